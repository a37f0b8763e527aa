import type { Run } from './handling.ts';
import { RenewedMap } from '../kit/churn.ts';
import type { Sequence } from '../store/run-key.ts';

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
