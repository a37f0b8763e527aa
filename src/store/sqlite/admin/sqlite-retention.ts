import type {
  CleaningStep,
  ErasureStep,
  EventCount,
  KeptIn,
  Look,
  RetentionLimits,
  RetentionStore,
  Scrubbed,
} from '../../retention-store.ts';
import type { Sequence } from '../../run-key.ts';
import type { Access } from '../access.ts';

/** How long cleaning waits for a locked database, in milliseconds: it can as well be done later. */
const cleaningTimeout = 1_000;
/** Each step has a transaction of its own, so that a delivery never shares the transaction, and the time it takes. */
const alone = { isAlone: true };

/** Retention and erasure in SQLite. */
export class SqliteRetention implements RetentionStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  async clean(limits: RetentionLimits, after: string | undefined): Promise<CleaningStep> {
    const { hasWork, next } = await this.#access.read(({ cleaning }) => cleaning.hasWork(limits, after));
    if (!hasWork) return { events: 0, runs: 0, quarantined: 0, traceIds: 0, next };
    return this.#access.write('clean', [limits, after], { ...alone, timeout: cleaningTimeout });
  }

  look(where: KeptIn, after: number): Promise<Look> {
    return this.#access.read(({ erasure }) => erasure.look(where, after));
  }

  countCall(callId: string): Promise<EventCount> {
    return this.#access.read(({ erasure }) => erasure.countCall(callId));
  }

  countEvents(sequences: readonly Sequence[]): Promise<EventCount> {
    return this.#access.read(({ erasure }) => erasure.countEvents(sequences));
  }

  eraseCall(callId: string, traceIdsUntil: number): Promise<ErasureStep> {
    return this.#access.write('eraseCall', [callId, traceIdsUntil], alone);
  }

  eraseEvents(sequences: readonly Sequence[], traceIdsUntil: number): Promise<ErasureStep> {
    return this.#access.write('eraseEvents', [sequences, traceIdsUntil], alone);
  }

  eraseQuarantined(ids: readonly number[]): Promise<number> {
    return this.#access.write('eraseQuarantined', [ids], alone);
  }

  eraseReplays(ids: readonly number[]): Promise<void> {
    return this.#access.write('eraseReplays', [ids], alone);
  }

  needsScrubbing(): Promise<boolean> {
    return this.#access.read(({ scrubbing }) => scrubbing.isWanted());
  }

  size(): Promise<number> {
    return this.#access.read(({ scrubbing }) => scrubbing.size());
  }

  scrub(options: { readonly compact: boolean }): Promise<Scrubbed> {
    return this.#access.write('scrub', [options]);
  }
}
