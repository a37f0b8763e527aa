import type Database from 'better-sqlite3';
import type { Counts } from '../../../kit/activity.ts';
import {
  type Backlog,
  type HistoryRow,
  type Resolution,
  countsOfHour,
  gauges,
  resolutions,
  startOf,
  wholeReceiver,
} from '../../history-store.ts';
import { maxCounted, maxLookedUp } from '../../shared/bounds.ts';
import { dueHandlers } from './overview.ts';

/** How many minutes or hours are read at once: some milliseconds, for which intake can wait. */
const periodsAtOnce = 30;

/** A part of what waits: how much, and the first of what has waited since its arrival, its replay or its due time. */
interface Waiting {
  readonly count: number;
  readonly sequence: number | null;
  readonly replayedAt: number | null;
  readonly dueAt: number | null;
}

/** Counts by minute and hour. `add` runs inside the caller's transaction. */
export function prepareHistory(database: Database.Database) {
  const upsert = (sum: string) =>
    database.prepare(`
      insert into history (resolution, handler, at, name, count) values (?, ?, ?, ?, ?)
      on conflict do update set count = ${sum}`);
  const addCount = upsert('count + excluded.count');
  const keepLargest = upsert('max(count, excluded.count)');
  const selectWaited = database
    .prepare<[number], number>(
      `select sum(count) from history
       where resolution = 'minute' and handler = '${wholeReceiver}' and at = ? and name in ('waiting', 'held')`,
    )
    .pluck();
  const selectGroups = database
    .prepare<[number], string>(
      `select name from history
       where resolution = 'hour' and handler = '${wholeReceiver}' and at = ? and name between 'group:' and 'group;'`,
    )
    .pluck();
  // From name to name along the key: what stays is not gone through.
  const remove = database.prepare(`
    with recursive handlers (handler) as (
      select min(handler) from history where resolution = @resolution union all
      select (select min(handler) from history where resolution = @resolution and handler > handlers.handler)
      from handlers where handler is not null)
    delete from history where resolution = @resolution and at < @before
      and handler in (select handler from handlers where handler is not null)`);
  const select = database.prepare(`
    select at, name, count from history
    where resolution = @resolution and handler = @handler and at >= @since and at < @until
      and (@kinds is null or
        case instr(name, ':') when 0 then name else substr(name, 1, instr(name, ':')) end
          in (select value from json_each(@kinds)))
    order by at, name`);
  const selectFirst = database
    .prepare<[{ resolution: string; handler: string; since: number }], number>(
      'select at from history where resolution = @resolution and handler = @handler and at >= @since order by at limit 1',
    )
    .pluck();
  // Each is counted up to a bound, and all but `maxLookedUp` runs by the index alone: after an outage there may be
  // millions, and this is asked every minute on the app's thread.
  const selectWaiting = database.prepare<[], Waiting>(`
    select count(*) as count, min(sequence) as sequence, null as replayedAt, null as dueAt
    from (select sequence from waiting order by sequence limit ${maxCounted})`);
  const due = "from runs where state = 'due' and handler = @handler";
  const selectDue = database.prepare<[{ readonly handler: string; readonly now: number }], Waiting>(`
    with at_once as materialized (
      select sequence, replay ${due} and due_at = 0 order by sequence limit ${maxLookedUp})
    select (select count(*) from (select 1 ${due} and due_at <= @now limit ${maxCounted})) as count,
      (select min(sequence) from at_once where replay is null) as sequence,
      (select min(coalesce(finished_at, @now)) from audit where id in (select replay from at_once)) as replayedAt,
      (select min(due_at) ${due} and due_at > 0 and due_at <= @now) as dueAt`);
  const selectDueHandlers = database.prepare<[], string>(dueHandlers).pluck();
  const selectReceived = database
    .prepare<[number | null], number>('select received_at from events where sequence = ?')
    .pluck();
  /** Since when the oldest one has waited. */
  const waitingSince = ({ sequence, replayedAt, dueAt }: Waiting) =>
    Math.min(selectReceived.get(sequence) ?? Infinity, replayedAt ?? Infinity, dueAt ?? Infinity);

  /** Returns when the minute or the hour begins. */
  const addTo = (resolution: Resolution, handler: string, at: number, counts: Counts): number => {
    const start = startOf(resolution, at);
    for (const [name, count] of counts)
      (gauges.has(name) ? keepLargest : addCount).run(resolution, handler, start, name, count);
    return start;
  };

  return {
    add(
      at: number,
      counts: Counts,
      mayRemove: boolean,
      handlers: ReadonlyMap<string, Counts> = new Map(),
    ): void {
      const minute = addTo('minute', wholeReceiver, at, counts);
      const groups = selectGroups.all(startOf('hour', at));
      addTo('hour', wholeReceiver, at, countsOfHour(counts, selectWaited.get(minute) ?? 0, groups));
      for (const [handler, own] of handlers) {
        addTo('minute', handler, at, own);
        addTo('hour', handler, at, own);
      }
      if (!mayRemove) return;
      for (const [resolution, { kept }] of Object.entries(resolutions))
        remove.run({ resolution, before: at - kept });
    },
    /** The counts of the first periods; `next` is where the others begin, once other work has run. */
    stretch(
      resolution: Resolution,
      since: number,
      until: number,
      handler = wholeReceiver,
      kinds?: readonly string[],
    ): { readonly rows: readonly HistoryRow[]; readonly next: number | undefined } {
      const first = selectFirst.get({ resolution, handler, since }) ?? until;
      const next = Math.min(until, first + periodsAtOnce * resolutions[resolution].length);
      const asked = {
        resolution,
        handler,
        since: first,
        until: next,
        kinds: kinds ? JSON.stringify(kinds) : null,
      };
      return { rows: select.all(asked) as HistoryRow[], next: next < until ? next : undefined };
    },
    backlog(now: number): Backlog {
      const handlers = selectDueHandlers.all();
      const found = [
        selectWaiting.get(),
        ...handlers.map((handler) => selectDue.get({ handler, now })),
      ].filter((part) => part !== undefined);
      const waiting = found.reduce((sum, { count }) => sum + count, 0);
      const oldest = Math.min(...found.map(waitingSince));
      return { waiting, oldest: Number.isFinite(oldest) ? oldest : undefined };
    },
  };
}
