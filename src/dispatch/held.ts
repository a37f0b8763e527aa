import type { Run } from './handling.ts';
import { RenewedMap } from '../kit/churn.ts';
import type { Sequence } from '../store/run-key.ts';
import type { Settled } from '../store/run-key.ts';

/** How many bytes the bodies of the claimed events and runs take that this process works on. */
export class Held {
  readonly #events = new RenewedMap<Sequence, number>();
  readonly #runs = new RenewedMap<string, number>();
  #bytes = 0;

  /** The bytes of all bodies, each counted as often as there is a copy of its event. */
  get bytes(): number {
    return this.#bytes;
  }

  addEvent(sequence: Sequence, bytes: number): void {
    this.#bytes += bytes - (this.#events.get(sequence) ?? 0);
    this.#events.set(sequence, bytes);
  }

  endEvent(sequence: Sequence): void {
    this.#bytes -= this.#events.get(sequence) ?? 0;
    this.#events.delete(sequence);
  }

  /** Adds a run that has a row of its own. Those without a row count with their event. */
  addRun(run: Run, bytes: number): void {
    this.#bytes += bytes - (this.#runs.get(keyOf(run)) ?? 0);
    this.#runs.set(keyOf(run), bytes);
  }

  endRun(run: Run): void {
    if (this.#runs.size === 0) return;
    this.#bytes -= this.#runs.get(keyOf(run)) ?? 0;
    this.#runs.delete(keyOf(run));
  }
}

function keyOf({ sequence, handler: { name } }: Run): string {
  return `${sequence} ${name}`;
}

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
