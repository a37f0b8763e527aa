import type { Run } from './handling.ts';
import { RenewedMap } from '../kit/churn.ts';
import type { HeldWork, Sequence } from '../store/run-key.ts';

/**
 * The claimed events and runs that this process has in hand. If a write fails after it has committed a claim, the claim
 * is ours without our knowing of it. Such a claim is recognised because it is not here.
 */
export class Held {
  /** The events in hand, with the bytes that they take. */
  readonly #events = new RenewedMap<Sequence, number>();
  readonly #runs = new RenewedMap<
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

  /** Adds a run that has a row of its own, with its `bytes` unless an event in hand counts them already. */
  addRun({ sequence, handler: { name } }: Run, bytes = 0): void {
    const key = `${sequence} ${name}`;
    const known = this.#runs.get(key);
    if (known) return;
    this.#bytes += bytes;
    this.#runs.set(key, { sequence, handler: name, bytes });
  }

  /** Removes a run that has a row of its own. Runs without a row are held by their event. */
  endRun({ sequence, handler: { name } }: Run): void {
    if (this.#runs.size === 0) return;
    const key = `${sequence} ${name}`;
    this.#bytes -= this.#runs.get(key)?.bytes ?? 0;
    this.#runs.delete(key);
  }
}
