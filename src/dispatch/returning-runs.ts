import type { Run } from './handling.ts';
import type { Sequence } from '../store/run-key.ts';
import type { OpenRun } from '../store/claims.ts';
import type { RunState } from '../store/store.ts';

interface ReturningRun extends OpenRun {
  readonly sequence: Sequence;
}

/**
 * The runs that are on their way back to the inbox. A claim that is made meanwhile can't see them there. What it claims
 * is therefore compared with them here: otherwise an event could be handled before an earlier event of its call.
 */
export class ReturningRuns {
  readonly #written = new Set<Promise<unknown>>();
  readonly #byCall = new Map<string, Set<ReturningRun>>();

  /** Adds a run that is being requeued; `written` settles when the run is in the inbox. */
  add(run: Run, state: RunState, written: Promise<unknown>): void {
    const forget = this.#remember(run, state);
    this.#written.add(written);
    const isBack = (): void => {
      this.#written.delete(written);
      forget();
    };
    written.then(isBack, isBack);
  }

  /** The runs that come before a run: the stored runs that its claim has found, and those on their way back. */
  runsBefore({ callId, sequence }: Run, stored: readonly OpenRun[]): readonly OpenRun[] {
    const runs = callId === undefined ? undefined : this.#byCall.get(callId);
    return runs === undefined ? stored : [...stored, ...[...runs].filter((run) => run.sequence < sequence)];
  }

  /** Resolves when every run that goes back is in the inbox. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#written);
  }

  #remember({ callId, handler, sequence, attempts }: Run, state: RunState): () => void {
    if (callId === undefined) return () => {};
    const run = {
      handler: handler.name,
      sequence,
      attempts,
      dueAt: state.kind === 'following' ? state.dueAt : 0,
    };
    const runs = this.#byCall.get(callId) ?? new Set();
    this.#byCall.set(callId, runs.add(run));
    return () => {
      runs.delete(run);
      if (runs.size === 0) this.#byCall.delete(callId);
    };
  }
}
