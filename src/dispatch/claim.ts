import type { Handler } from '../handling.ts';
import type { Settled } from '../store/run-key.ts';
import type { OpenRun } from '../store/store.ts';

/** Where a claimed event's run goes: to memory, or back to the inbox as a row that is due or blocked. */
export type Placement = 'memory' | 'due' | 'blocked';

/** Decides where a run goes, by the order its handler asks for and the room it has. */
export function placementOf({ name, order }: Handler, room: number, openRuns: readonly OpenRun[]): Placement {
  const earlier = openRuns.filter((run) => run.handler === name);
  if (order === 'strict' && earlier.length > 0) return 'blocked';
  // An earlier event of the call that was not begun yet goes first; one that failed has stepped aside.
  if (order === 'call' && earlier.some((run) => run.attempts === 0)) return 'due';
  return room > 0 ? 'memory' : 'due';
}

/**
 * When a run that goes back to the inbox is due: with the last of those it follows. A replay puts runs back that
 * are due later, and an event that arrives meanwhile must not overtake them.
 */
export function dueAfter({ name, order }: Handler, openRuns: readonly OpenRun[]): number {
  if (order !== 'call') return 0;
  const earlier = openRuns.filter((run) => run.handler === name && run.attempts === 0);
  return earlier.reduce((latest, run) => Math.max(latest, run.dueAt), 0);
}

/**
 * An event that this process has claimed. The claim ends with the last of its runs, so their settlements are
 * written one after the other: one that fails and is written again must not find the claim gone.
 */
export class Claim {
  readonly #onEnd: () => void;
  #remaining: number;
  /** The settlement that was written last, or is being written. */
  #turn: Promise<unknown> | undefined;

  constructor(runs: number, onEnd: () => void) {
    this.#remaining = runs;
    this.#onEnd = onEnd;
  }

  /** Writes a settlement when its turn comes; `last` says that the claim ends with it. */
  settle(write: (last: boolean) => Promise<Settled>): Promise<Settled> {
    const settled = this.#turn ? this.#turn.then(() => this.#write(write)) : this.#write(write);
    // Most events have one run: nobody comes after it.
    if (this.#remaining > 1) this.#turn = settled.catch(() => {});
    return settled;
  }

  async #write(write: (last: boolean) => Promise<Settled>): Promise<Settled> {
    const result = await write(this.#remaining === 1);
    this.#remaining -= 1;
    if (this.#remaining === 0) this.#onEnd();
    return result;
  }
}
