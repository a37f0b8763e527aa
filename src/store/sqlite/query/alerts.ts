import type Database from 'better-sqlite3';
import type { FoundAlert, KeptAlert, ToTell } from '../../alert-store.ts';

/** Which alerts are raised. All but `list` and `deadRuns` run inside a transaction of the caller's. */
export function prepareAlerts(database: Database.Database) {
  const toldAt = database.prepare('select told_at from alerts where name = ? and subject = ?').pluck();
  const raise = database
    .prepare(`
      insert into alerts (name, subject, since, told_at, message) values (@name, @subject, @now, @now, @message)
      on conflict do update set told_at = @now, message = @message where told_at < @toldBefore
      returning since`)
    .pluck();
  const update = database.prepare(
    'update alerts set message = @message where name = @name and subject = @subject and message <> @message',
  );
  const untold = database.prepare('update alerts set told_at = 0 where name = ? and subject = ?');
  const end = database
    .prepare('delete from alerts where name = ? and subject = ? returning told_at > 0')
    .pluck();
  const list = database.prepare('select name, subject, since, message from alerts order by name, subject');
  const deadRuns = database
    .prepare(
      // Group by group: of one that is muted there may be a million, which are not gone through.
      `select count(*) from (
         select 1 from failure_groups cross join runs indexed by runs_failed on failure = fingerprint and state = 'dead'
         where muted_at is null limit ?)`,
    )
    .pluck();

  return {
    raise(alert: FoundAlert): ToTell | undefined {
      const { name, subject, message } = alert;
      const isNew = !toldAt.get(name, subject);
      const since = raise.get(alert) as number | undefined;
      if (since !== undefined) return { since, isNew };
      update.run({ name, subject, message });
      return undefined;
    },
    untold: (name: string, subject: string): void => void untold.run(name, subject),
    end: (name: string, subject: string): boolean => end.get(name, subject) === 1,
    list: () => list.all() as KeptAlert[],
    deadRuns: (limit: number) => deadRuns.get(limit) as number,
  };
}
