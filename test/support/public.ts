/** The public names, and the few shapes that adapters hand to the receiver. */
export * from '../../src/index.ts';
export type { BodySource } from '../../src/events/model.ts';
export type { Store, StoreCounts, StoreFactory } from '../../src/store/store.ts';
