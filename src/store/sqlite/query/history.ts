import type Database from 'better-sqlite3';
import { type Backlog, type HistoryRow, type Resolution, gauges, resolutions } from '../../history-store.ts';
import { maxCounted } from '../../shared/bounds.ts';
import { dueHandlers } from './overview.ts';

/** Some of what waits: how much, and the first of it. */
interface Waiting {
  readonly count: number;
  readonly first: number | null;
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
  const upTo = (rows: string) =>
    `select count(*) as count, min(sequence) as first from (${rows} limit ${maxCounted})`;
  const selectWaiting = database.prepare<[], Waiting>(upTo('select sequence from waiting order by sequence'));
  const selectDue = database.prepare<[string, number], Waiting>(
    upTo(`select sequence from runs where state = 'due' and handler = ? and due_at <= ? order by due_at`),
  );
  const selectDueHandlers = database.prepare<[], string>(dueHandlers).pluck();
  const selectReceived = database
    .prepare<[number], number>('select received_at from events where sequence = ?')
    .pluck();

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
      const found = [selectWaiting.get(), ...handlers.map((handler) => selectDue.get(handler, now))];
      const waiting = found.reduce((sum, part) => sum + (part?.count ?? 0), 0);
      const first = Math.min(...found.map((part) => part?.first ?? Infinity));
      return { waiting, oldest: waiting === 0 ? undefined : selectReceived.get(first) };
    },
  };
}
