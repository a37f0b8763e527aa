import { setImmediate as turn } from 'node:timers/promises';
import { z } from 'zod';
import { type Instant, checked, givenText, listOptions, parseStrictly } from '../errors/option-problems.ts';
import type { Activity } from '../kit/activity.ts';
import type { Clock } from '../kit/clock.ts';
import { type Duration, parsePositiveDuration } from '../kit/duration.ts';
import { ClockWatch } from './clock-watch.ts';
import { type HandlerHistoryPoint, type HistoryPoint, merged, pointOf, runsIn } from './history-points.ts';
import {
  type Backlog,
  type HistoryRow,
  type HistoryStore,
  type Resolution,
  resolutions,
  wholeReceiver,
} from '../store/history-store.ts';

/** Which part of the history to list. */
export interface HistoryQuery {
  /** @default 'minute' */
  readonly resolution?: Resolution | undefined;
  readonly since?: Instant | undefined;
  readonly until?: Instant | undefined;
  /** Merges the minutes, or hours, of each step of this length. Steps are counted from `since`. */
  readonly step?: Duration | undefined;
}

interface HistoryParts {
  readonly store: HistoryStore;
  readonly activity: Activity;
  readonly clock: Clock;
  /** `held`: how many of those that wait this process has claimed and not begun. */
  readonly backlog: () => Promise<Backlog & { readonly held: number }>;
  /** Called after each minute was written. Never rejects. */
  readonly onMinute: () => Promise<void>;
  /** @throws RingbackError unless the receiver runs */
  readonly requireStarted: (method: string) => void;
}

export const historyQuerySchema = z.strictObject({
  resolution: z.enum(['minute', 'hour'], "'minute' or 'hour'").default('minute'),
  since: listOptions.since,
  until: listOptions.until,
  step: checked("milliseconds or a duration such as '10m', above zero", parsePositiveDuration).optional(),
});

const handlerQuerySchema = historyQuerySchema.extend({ handler: givenText });
type HistoryAsked = z.infer<typeof historyQuerySchema> & { readonly handler?: string };

/** How many points are computed in one turn of the event loop. */
const pointsAtOnce = 20;

const minute = resolutions.minute.length;

/** What a point is made of. Counts of each handler and of each group of failures are not read: they may be many. */
const shownKinds = [
  'accepted',
  'duplicate',
  'quarantined',
  'refused:',
  'answer:',
  'done',
  'retried',
  'dead',
  'run:',
  'waiting',
  'held',
  'oldest_waiting',
];

/** Numbers of deliveries, answers and runs: by minute for two days, and by hour for 90 days. */
export class History {
  readonly #parts: HistoryParts;
  readonly #clockWatch: ClockWatch;
  #cancel = () => {};
  #writing: Promise<void> = Promise.resolve();
  #isStopped = false;

  /** @internal */
  constructor(parts: HistoryParts) {
    this.#parts = parts;
    this.#clockWatch = new ClockWatch(parts.clock);
  }

  /**
   * Lists the minutes or hours in which something happened, oldest first. With `step`, those of a step become one
   * point, with the quantiles of all its durations.
   *
   * @throws ConfigError for an invalid query; RingbackError `receiver_not_started`
   * @example const hours = await receiver.history.list({ resolution: 'hour', since: '2026-03-01T00:00:00Z' });
   */
  async list(query: HistoryQuery = {}): Promise<readonly HistoryPoint[]> {
    const asked = parseStrictly(historyQuerySchema, query, 'history.list', 'query');
    return this.#points('history.list()', asked, pointOf);
  }

  /**
   * Lists what one handler did, by minutes, hours or steps, oldest first; nothing for a handler that did nothing.
   * In each minute, a process counts only the first 100 handlers that had an attempt.
   *
   * @throws ConfigError for an invalid query; RingbackError `receiver_not_started`
   * @example const hours = await receiver.history.ofHandler('crm-sync', { resolution: 'hour' });
   */
  async ofHandler(handler: string, query: HistoryQuery = {}): Promise<readonly HandlerHistoryPoint[]> {
    const asked = parseStrictly(handlerQuerySchema, { ...query, handler }, 'history.ofHandler', 'query');
    return this.#points('history.ofHandler()', asked, (start, rows) => ({
      at: new Date(start),
      ...runsIn(merged(rows)),
    }));
  }

  /** @internal How many events and runs wait, and how long the oldest has waited, in milliseconds. */
  async backlog(): Promise<{ readonly waiting: number; readonly oldestWaiting: number }> {
    this.#parts.requireStarted('backlog');
    const { waiting, oldestWaiting = 0 } = await this.#backlog();
    return { waiting, oldestWaiting };
  }

  /**
   * @internal Writes the counts at the end of each minute. The next write begins only when the last has ended, however
   * slow.
   */
  start(): void {
    if (this.#isStopped) return;
    const { clock, onMinute } = this.#parts;
    const now = clock.now();
    const rest = minute - (now % minute);
    this.#cancel = clock.after(rest, () => {
      // By the wall clock, a timer may be a little early: its minute has not ended.
      if (clock.now() < now + rest) return this.start();
      // The minute that has just ended, even if the timer was late.
      this.#writing = this.#write(clock.now() - minute).then(onMinute);
      void this.#writing.then(() => this.start());
    });
  }

  /** @internal Writes the remaining counts. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#writing;
    await this.#write(this.#parts.clock.now());
  }

  /** A point of the rows of each minute, hour or step, by when it begins. */
  async #points<Point>(
    method: string,
    { resolution, since = 0, until = Number.MAX_SAFE_INTEGER, step, handler = wholeReceiver }: HistoryAsked,
    pointFrom: (start: number, rows: readonly HistoryRow[]) => Point,
  ): Promise<readonly Point[]> {
    const { store, requireStarted } = this.#parts;
    requireStarted(method);
    const startOf = (at: number) => (step === undefined ? at : at - ((at - since) % step));
    const rows = await store.list(resolution, since, until, handler, shownKinds);
    const points: Point[] = [];
    for (const [start, own] of Map.groupBy(rows, ({ at }) => startOf(at))) {
      points.push(pointFrom(start, own));
      // Two days have tens of thousands of counts, and deliveries are answered meanwhile.
      if (points.length % pointsAtOnce === 0) await turn();
    }
    return points;
  }

  async #backlog() {
    const { backlog, clock } = this.#parts;
    const { oldest, ...counts } = await backlog();
    const oldestWaiting = oldest === undefined ? undefined : Math.max(0, clock.now() - oldest);
    return { ...counts, oldestWaiting };
  }

  /** Never rejects: counts that can't be written are written with the next minute. */
  async #write(at: number): Promise<void> {
    const { store, activity } = this.#parts;
    const counted = activity.take();
    // Asked even if nothing will be written, so that every change of the clock is noticed.
    const mayRemove = this.#clockWatch.isTrusted();
    try {
      const { waiting, held, oldestWaiting } = await this.#backlog();
      const all = new Map(counted.counts);
      if (waiting > 0) all.set('waiting', waiting - held).set('held', held);
      if (oldestWaiting !== undefined) all.set('oldest_waiting', oldestWaiting);
      // An idle inbox isn't written to.
      if (all.size > 0) await store.add(at, all, mayRemove, counted.handlers);
    } catch {
      activity.restore(counted);
    }
  }
}
