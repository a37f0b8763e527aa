import type { DismissedRun } from '../store/event-store.ts';

/** Counts the events and runs that a replay or a dismissal has written, by handler. */
export class RunTally {
  #events = 0;
  readonly #handlers = new Map<string, number>();

  /** Adds the runs of a step. No event is in two steps. */
  add(runs: readonly DismissedRun[]): void {
    this.#events += new Set(runs.map(({ sequence }) => sequence)).size;
    for (const { handler } of runs) this.#handlers.set(handler, (this.#handlers.get(handler) ?? 0) + 1);
  }

  get runs(): number {
    return [...this.#handlers.values()].reduce((sum, runs) => sum + runs, 0);
  }

  get result(): {
    readonly events: number;
    readonly runs: number;
    readonly handlers: Readonly<Record<string, number>>;
  } {
    return { events: this.#events, runs: this.runs, handlers: Object.fromEntries(this.#handlers) };
  }
}
