import type { Run } from '../handling.ts';
import type { HeldWork, Sequence } from '../store/run-key.ts';

/**
 * What this process has claimed and has in hand. Where the inbox fails after it has written a claim, the claim is
 * ours and nobody knows of it: it is told from the others by not being here.
 */
export class Held {
  readonly #events = new Set<Sequence>();
  readonly #runs = new Map<string, { readonly sequence: Sequence; readonly handler: string }>();

  get work(): HeldWork {
    return { events: [...this.#events], runs: [...this.#runs.values()] };
  }

  addEvent(sequence: Sequence): void {
    this.#events.add(sequence);
  }

  endEvent(sequence: Sequence): void {
    this.#events.delete(sequence);
  }

  addRun({ sequence, handler: { name } }: Run): void {
    this.#runs.set(`${sequence} ${name}`, { sequence, handler: name });
  }

  /** Runs without a row are held by their event. */
  endRun({ sequence, handler: { name } }: Run): void {
    this.#runs.delete(`${sequence} ${name}`);
  }
}
