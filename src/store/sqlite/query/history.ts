import type Database from 'better-sqlite3';
import { type Backlog, type HistoryRow, type Resolution, gauges, resolutions } from '../../history-store.ts';
import { maxCounted } from '../../shared/bounds.ts';
import { dueHandlers } from './overview.ts';

/** Some of what waits: how much, and of those that wait since they arrived, for a replay or for a time, the first. */
interface Waiting {
  readonly count: number;
  readonly sequence: number | null;
  readonly replay: number | null;
  readonly dueAt: number | null;
}

/** Counts by minute and hour. `add` runs inside a transaction of the caller's. */
export function prepareHistory(database: Database.Database) {
  const upsert = (sum: string) =>
    database.prepare(`
      insert into history (resolution, at, name, count) values (?, ?, ?, ?)
      on conflict do update set count = ${sum}`);
  const addCount = upsert('count + excluded.count');
  const keepLargest = upsert('max(count, excluded.count)');
  const remove = database.prepare('delete from history where resolution = ? and at < ?');
  const select = database.prepare(
    'select at, name, count from history where resolution = ? and at >= ? and at < ? order by at, name',
  );
  // Each is counted up to a bound, and of each handler the runs that were due first: after an outage there may be millions,
  // and this is asked every minute on the app's thread.
  const upTo = (rows: string) => `
    select count(*) as count, min(due_at) filter (where due_at > 0) as dueAt,
      min(sequence) filter (where due_at = 0 and replay is null) as sequence, min(replay) filter (where due_at = 0) as replay
    from (${rows} limit ${maxCounted})`;
  const selectWaiting = database.prepare<[], Waiting>(
    upTo('select sequence, 0 as due_at, null as replay from waiting order by sequence'),
  );
  const selectDue = database.prepare<[string, number], Waiting>(
    upTo(`select sequence, due_at, replay from runs
      where state = 'due' and handler = ? and due_at <= ? order by due_at`),
  );
  const selectDueHandlers = database.prepare<[], string>(dueHandlers).pluck();
  const selectReceived = database
    .prepare<[number | null], number>('select received_at from events where sequence = ?')
    .pluck();
  const selectRequested = database
    .prepare<[number | null], number>('select requested_at from audit where id = ?')
    .pluck();
  /** Since when the one waits that has waited for longest. */
  const waitingSince = ({ sequence, replay, dueAt }: Waiting) =>
    Math.min(
      selectReceived.get(sequence) ?? Infinity,
      selectRequested.get(replay) ?? Infinity,
      dueAt ?? Infinity,
    );

  return {
    add(at: number, counts: ReadonlyMap<string, number>, mayRemove: boolean): void {
      for (const [resolution, { length, kept }] of Object.entries(resolutions)) {
        const start = Math.floor(at / length) * length;
        for (const [name, count] of counts)
          (gauges.has(name) ? keepLargest : addCount).run(resolution, start, name, count);
        if (mayRemove) remove.run(resolution, at - kept);
      }
    },
    list: (resolution: Resolution, since: number, until: number) =>
      select.all(resolution, since, until) as HistoryRow[],
    backlog(now: number): Backlog {
      const handlers = selectDueHandlers.all();
      const found = [selectWaiting.get(), ...handlers.map((handler) => selectDue.get(handler, now))].filter(
        (part) => part !== undefined,
      );
      const waiting = found.reduce((sum, { count }) => sum + count, 0);
      const oldest = Math.min(...found.map(waitingSince));
      return { waiting, oldest: Number.isFinite(oldest) ? oldest : undefined };
    },
  };
}
