import type Database from 'better-sqlite3';
import { type Backlog, type HistoryRow, type Resolution, gauges, resolutions } from '../../history-store.ts';

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
  const selectBacklog = database.prepare(`
    select events + runs as waiting, (
      select received_at from events where sequence = min(
        coalesce(first_event, first_run), coalesce(first_run, first_event))) as oldest
    from
      (select count(*) as events, min(sequence) as first_event from waiting),
      (select count(*) as runs, min(sequence) as first_run from runs where state = 'due' and due_at <= ?)`);

  return {
    add(at: number, counts: ReadonlyMap<string, number>): void {
      for (const [resolution, { length, kept }] of Object.entries(resolutions)) {
        const start = Math.floor(at / length) * length;
        for (const [name, count] of counts)
          (gauges.has(name) ? keepLargest : addCount).run(resolution, start, name, count);
        remove.run(resolution, at - kept);
      }
    },
    list: (resolution: Resolution, since: number, until: number) =>
      select.all(resolution, since, until) as HistoryRow[],
    backlog(now: number): Backlog {
      const { waiting, oldest } = selectBacklog.get(now) as { waiting: number; oldest: number | null };
      return { waiting, oldest: oldest ?? undefined };
    },
  };
}
