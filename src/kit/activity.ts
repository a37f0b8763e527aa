import { bucketOf } from './histogram.ts';

/** Counts by their names. */
export type Counts = ReadonlyMap<string, number>;

/** What a process has done since this was last taken. Counted with every delivery and run, so it only adds up. */
export class Activity {
  #counts = new Map<string, number>();

  /** A delivery was answered. `outcome`: what became of it, or the code of its refusal behind `refused:`. */
  answered(outcome: string, milliseconds: number): void {
    this.#add(outcome, 1);
    this.#add(`answer:${bucketOf(milliseconds)}`, 1);
  }

  /** An attempt of a run has ended. */
  ran(outcome: 'done' | 'retried' | 'dead', milliseconds: number): void {
    this.#add(outcome, 1);
    this.#add(`run:${bucketOf(milliseconds)}`, 1);
  }

  /** What was counted; from now on it is counted anew. */
  take(): Counts {
    const counts = this.#counts;
    this.#counts = new Map();
    return counts;
  }

  /** Takes back what could not be written. */
  restore(counts: Counts): void {
    for (const [name, count] of counts) this.#add(name, count);
  }

  #add(name: string, count: number): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }
}
