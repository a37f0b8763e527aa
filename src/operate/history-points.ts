/** Computes what happened in a minute, an hour or a step from its counts. */
import { type Counts, quantile } from '../kit/activity.ts';
import { type HistoryRow, gauges } from '../store/history-store.ts';

/** What happened in a minute, an hour or a step, in all processes of the inbox. Durations are in milliseconds. */
export interface HistoryPoint {
  /** The start of the minute, hour or step. */
  readonly at: Date;
  readonly accepted: number;
  readonly duplicate: number;
  /** Authentic, but unreadable. */
  readonly quarantined: number;
  /** Counts by the code of the refusal. */
  readonly refused: Readonly<Record<string, number>>;
  /** The median of the answer times. Quantiles are rounded up: below 5 s by at most about half. */
  readonly answerP50: number | undefined;
  readonly answerP99: number | undefined;
  /** Attempts that succeeded. */
  readonly done: number;
  readonly retried: number;
  readonly dead: number;
  readonly handlerP50: number | undefined;
  readonly handlerP99: number | undefined;
  /** The maximum of the waiting events and due runs, in the inbox and in all processes, sampled once a minute. */
  readonly waiting: number;
  /** The maximum time that the oldest of them had waited. */
  readonly oldestWaiting: number | undefined;
}

/** What a handler did in a minute, an hour or a step, in all processes of the inbox. */
export type HandlerHistoryPoint = Pick<
  HistoryPoint,
  'at' | 'done' | 'retried' | 'dead' | 'handlerP50' | 'handlerP99'
>;

export function pointOf(at: number, rows: readonly HistoryRow[]): HistoryPoint {
  const counts = merged(rows);
  const count = (name: string): number => counts.get(name) ?? 0;
  const answers = byEnd(below(counts, 'answer:'));
  return {
    at: new Date(at),
    accepted: count('accepted'),
    duplicate: count('duplicate'),
    quarantined: count('quarantined'),
    refused: Object.fromEntries(below(counts, 'refused:')),
    answerP50: quantile(answers, 0.5),
    answerP99: quantile(answers, 0.99),
    ...runsIn(counts),
    waiting: mostThatWaited(rows),
    oldestWaiting: counts.get('oldest_waiting'),
  };
}

export function runsIn(counts: Counts): Omit<HandlerHistoryPoint, 'at'> {
  const durations = byEnd(below(counts, 'run:'));
  return {
    done: counts.get('done') ?? 0,
    retried: counts.get('retried') ?? 0,
    dead: counts.get('dead') ?? 0,
    handlerP50: quantile(durations, 0.5),
    handlerP99: quantile(durations, 0.99),
  };
}

/** The counts by their names: the sum of those with the same name, or their maximum if they say what waits. */
export function merged(rows: readonly HistoryRow[]): Counts {
  const counts = new Map<string, number>();
  for (const { name, count } of rows) {
    const before = counts.get(name) ?? 0;
    counts.set(name, gauges.has(name) ? Math.max(before, count) : before + count);
  }
  return counts;
}

/** What waited in the inbox, and in all processes together, in the minute or hour in which that was most. */
function mostThatWaited(rows: readonly HistoryRow[]): number {
  const all = rows.filter(({ name }) => name === 'waiting' || name === 'held');
  const byTime = [...Map.groupBy(all, ({ at }) => at).values()];
  return Math.max(0, ...byTime.map((parts) => parts.reduce((sum, { count }) => sum + count, 0)));
}

/** The counts whose names begin with the prefix, by the rest of the name. */
function below(counts: Counts, prefix: string): ReadonlyMap<string, number> {
  const own = [...counts].filter(([name]) => name.startsWith(prefix));
  return new Map(own.map(([name, count]) => [name.slice(prefix.length), count]));
}

function byEnd(counts: ReadonlyMap<string, number>): ReadonlyMap<number, number> {
  return new Map([...counts].map(([end, count]) => [Number(end), count]));
}
