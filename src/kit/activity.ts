import { bucketOf } from './histogram.ts';

/** Counts by their names. */
export type Counts = ReadonlyMap<string, number>;

/** How a delivery was answered: what became of it, or the code of its refusal behind `refused:`. */
export type AnswerOutcome = 'accepted' | 'duplicate' | 'quarantined' | `refused:${string}`;

/** How an attempt of a run has ended. */
export type RunOutcome = 'done' | 'retried' | 'dead';

/** Hears of each delivery and run, with the time that it took in milliseconds. Must not throw. */
export interface ActivityObserver {
  answered(outcome: AnswerOutcome, milliseconds: number): void;
  ran(handler: string, outcome: RunOutcome, milliseconds: number): void;
}

/** How many groups of failures are counted in a minute. */
const maxGroups = 50;

/** What a process has done since this was last taken. Counted with every delivery and run, so it only adds up. */
export class Activity {
  #counts = new Map<string, number>();
  readonly #groups = new Set<string>();
  readonly #observers = new Set<ActivityObserver>();

  /** Returns the function that ends it. */
  observe(observer: ActivityObserver): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  /** A delivery was answered. */
  answered(outcome: AnswerOutcome, milliseconds: number): void {
    for (const observer of this.#observers) observer.answered(outcome, milliseconds);
    this.#add(outcome, 1);
    this.#add(`answer:${bucketOf(milliseconds)}`, 1);
  }

  /** An attempt of a run has ended. `group` is of failures that are alike. */
  ran(handler: string, outcome: RunOutcome, milliseconds: number, group?: string): void {
    for (const observer of this.#observers) observer.ran(handler, outcome, milliseconds);
    this.#add(outcome, 1);
    this.#add(`${outcome === 'done' ? 'done' : 'failed'}:${handler}`, 1);
    this.#add(`run:${bucketOf(milliseconds)}`, 1);
    if (group !== undefined) this.#addToGroup(`group:${group}`);
  }

  /** What was counted; from now on it is counted anew. */
  take(): Counts {
    const counts = this.#counts;
    this.#counts = new Map();
    this.#groups.clear();
    return counts;
  }

  /** Takes back what could not be written. */
  restore(counts: Counts): void {
    for (const [name, count] of counts) this.#add(name, count);
  }

  /** Beyond so many, failures are not counted by group: whoever has more has one problem with many messages. */
  #addToGroup(name: string): void {
    if (!this.#groups.has(name) && this.#groups.size >= maxGroups) return;
    this.#groups.add(name);
    this.#add(name, 1);
  }

  #add(name: string, count: number): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }
}
