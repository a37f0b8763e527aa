import type { CallEventRow } from '../../calls/timeline.ts';
import type { CallFilter, CallPage, CallStore, JoinArrival, JoinLookBack, JoinView } from '../call-store.ts';
import type { Sequence, Settled } from '../run-key.ts';
import type { WriteLimits } from './commit-group.ts';
import type { Parts } from './parts.ts';

/** How a part of the store reads and writes. */
export interface Access {
  /** Reads at once; a reader never waits in WAL mode. */
  read<T>(operation: (parts: Parts) => T): Promise<T>;
  /** Writes in the next group commit. */
  write<T>(operation: (parts: Parts) => T, limits?: WriteLimits): Promise<T>;
}

/** Calls and joins in SQLite. */
export class SqliteCalls implements CallStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  eventsOf(callId: string): Promise<readonly CallEventRow[]> {
    return this.#access.read(({ callRecords }) => callRecords.eventsOf(callId));
  }

  list(filter: CallFilter): Promise<CallPage> {
    return this.#access.read(({ listCalls }) => listCalls(filter));
  }

  arrive(arrival: JoinArrival): Promise<Settled> {
    return this.#access.write(({ joins }) => joins.arrive(arrival));
  }

  see(handler: string, callId: string, events: readonly string[]): Promise<JoinView> {
    return this.#access.write(({ joins }) => joins.see(handler, callId, events));
  }

  lookBack(join: JoinLookBack): Promise<Sequence | undefined> {
    return this.#access.write(({ joins }) => joins.lookBack(join));
  }
}
