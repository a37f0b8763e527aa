/** Counts by their names. */
export type Counts = ReadonlyMap<string, number>;

/** How a delivery was answered: its status, or `refused:` and the code of the refusal. */
export type AnswerOutcome = 'accepted' | 'duplicate' | 'quarantined' | `refused:${string}`;

/** How an attempt of a run has ended. */
export type RunOutcome = 'done' | 'retried' | 'dead';

/** Called for each delivery and each attempt, with its duration in milliseconds. Must not throw. */
export interface ActivityObserver {
  answered(outcome: AnswerOutcome, milliseconds: number): void;
  ran(handler: string, outcome: RunOutcome, milliseconds: number): void;
}

/** What was counted: by the receiver as a whole, and by each handler alone. */
interface Counted {
  readonly counts: Counts;
  readonly handlers: ReadonlyMap<string, Counts>;
}

/** Begins the name of a count of one group of failures; the group's id follows. */
export const groupPrefix = 'group:';

/** How many groups of failures are counted per `take`. */
export const maxGroups = 50;
/** How many handlers a `take` returns alone. */
const maxHandlers = 100;

/** Counts what this process has done since the last `take`. It must be cheap: every delivery and run is counted. */
export class Activity {
  #counts = new Map<string, number>();
  #handlers = new Map<string, Map<string, number>>();
  readonly #groups = new Set<string>();
  readonly #observers = new Set<ActivityObserver>();

  /** Returns a function that ends it. */
  observe(observer: ActivityObserver): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  /** A delivery was answered. */
  answered(outcome: AnswerOutcome, milliseconds: number): void {
    for (const observer of this.#observers) observer.answered(outcome, milliseconds);
    add(this.#counts, outcome, 1);
    add(this.#counts, `answer:${bucketOf(milliseconds)}`, 1);
  }

  /** An attempt of a run has ended. `group`: the group of its failure, if it failed. */
  ran(handler: string, outcome: RunOutcome, milliseconds: number, group?: string): void {
    for (const observer of this.#observers) observer.ran(handler, outcome, milliseconds);
    const bucket = `run:${bucketOf(milliseconds)}`;
    add(this.#counts, outcome, 1);
    add(this.#counts, `${outcome === 'done' ? 'done' : 'failed'}:${handler}`, 1);
    add(this.#counts, bucket, 1);
    const own = this.#countsOf(handler);
    add(own, outcome, 1);
    add(own, bucket, 1);
    if (group !== undefined) this.#addToGroup(`${groupPrefix}${group}`);
  }

  /** Returns the counts and resets them. Of the handlers, only the first `maxHandlers` are returned. */
  take(): Counted {
    const counts = this.#counts;
    const handlers = new Map([...this.#handlers].slice(0, maxHandlers));
    this.#counts = new Map();
    this.#handlers = new Map();
    this.#groups.clear();
    return { counts, handlers };
  }

  /** Adds counts that were taken and could not be written. */
  restore({ counts, handlers }: Counted): void {
    for (const [name, count] of counts) add(this.#counts, name, count);
    for (const [handler, taken] of handlers) {
      const own = this.#countsOf(handler);
      for (const [name, count] of taken) add(own, name, count);
    }
  }

  #countsOf(handler: string): Map<string, number> {
    const own = this.#handlers.get(handler) ?? new Map<string, number>();
    this.#handlers.set(handler, own);
    return own;
  }

  /** Counts a group, up to `maxGroups` groups: more are mostly one problem with many messages. */
  #addToGroup(name: string): void {
    if (!this.#groups.has(name) && this.#groups.size >= maxGroups) return;
    this.#groups.add(name);
    add(this.#counts, name, 1);
  }
}

function add(counts: Map<string, number>, name: string, count: number): void {
  counts.set(name, (counts.get(name) ?? 0) + count);
}

/**
 * The upper ends of the buckets in which durations are counted, in milliseconds, so that the counts of many processes
 * and minutes can be added up. From 2 ms to 5 s, each is about one and a half times the one before.
 */
export const bucketEnds = [
  1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1_200, 2_000, 3_000, 5_000, 10_000, 30_000,
  60_000, 300_000, 3_600_000,
] as const;
const longestBucket = Math.max(...bucketEnds);

/** The upper end of a duration's bucket; the last one for a duration beyond all buckets. */
export function bucketOf(milliseconds: number): number {
  for (const end of bucketEnds) if (milliseconds <= end) return end;
  return longestBucket;
}

/**
 * An upper bound of a quantile: the end of the bucket below which `part` of all durations are. Undefined without any.
 *
 * @param counts how many durations are in each bucket, by its end
 */
export function quantile(counts: ReadonlyMap<number, number>, part: number): number | undefined {
  const ends = [...counts.keys()].toSorted((one, other) => one - other);
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  let below = 0;
  return ends.find((end) => (below += counts.get(end) ?? 0) >= all * part && below > 0);
}

/** The metrics of what a process does, for any client: descriptions and buckets. Durations are in seconds. */
export const measures = {
  deliveries: { help: 'Deliveries, by how they were answered, and by the code of a refusal.' },
  answerDuration: {
    help: 'How long answers to deliveries took.',
    // The platform waits one second for an answer.
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1, 2.5],
  },
  runs: { help: 'Attempts of handlers, by how they ended: done, retried, dead.' },
  runDuration: {
    help: 'How long attempts of handlers took.',
    // An attempt may take 30 seconds by default.
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  },
} as const;
