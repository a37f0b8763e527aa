import type { Run } from '../handling.ts';
import type { HeldWork, Sequence } from '../store/run-key.ts';

/**
 * What this process has claimed and has in hand. Where the inbox fails after it has written a claim, the claim is
 * ours and nobody knows of it: it is told from the others by not being here.
 */
export class Held {
  /** What is held, with the bytes it takes. */
  readonly #events = new Map<Sequence, number>();
  readonly #runs = new Map<
    string,
    { readonly sequence: Sequence; readonly handler: string; bytes: number }
  >();
  #bytes = 0;

  get work(): HeldWork {
    return { events: [...this.#events.keys()], runs: [...this.#runs.values()] };
  }

  /** The bytes of all bodies in hand, each counted as often as there is a copy of its event. */
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

  /** A run with a row of its own; `bytes` where no event in hand counts them. */
  addRun({ sequence, handler: { name } }: Run, bytes = 0): void {
    const key = `${sequence} ${name}`;
    const known = this.#runs.get(key);
    if (known) return;
    this.#bytes += bytes;
    this.#runs.set(key, { sequence, handler: name, bytes });
  }

  /** Runs without a row are held by their event. */
  endRun({ sequence, handler: { name } }: Run): void {
    if (this.#runs.size === 0) return;
    const key = `${sequence} ${name}`;
    this.#bytes -= this.#runs.get(key)?.bytes ?? 0;
    this.#runs.delete(key);
  }
}
