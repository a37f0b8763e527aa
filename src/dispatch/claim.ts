import type { Settled } from '../store/run-key.ts';

/**
 * This process's claim on an event. The claim ends with the settlement of the event's last run, so the settlements are
 * written one after another: one that fails and is written again must not find the claim gone.
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
    // No settlement comes after the last one, and most events have only one run.
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
