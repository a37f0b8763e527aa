import type Database from 'better-sqlite3';
import type { DeadRuns, FoundAlert, KeptAlert, AlertToSend } from '../../alert-store.ts';
import { asInteger } from '../connection/parameters.ts';

/** Raised alerts. All functions but `list` and `deadRuns` run inside the caller's transaction. */
export function prepareAlerts(database: Database.Database) {
  const lastSentAt = database
    .prepare(
      `select iif(${asInteger('@notifies')}, notified_at, sent_at) from alerts where name = @name and subject = @subject`,
    )
    .pluck();
  const raise = database
    .prepare(`
      insert into alerts (name, subject, since, sent_at, notified_at, found_at, message)
      values (@name, @subject, @now, @now, iif(${asInteger('@notifies')}, @now, 0), @now, @message)
      on conflict do update set sent_at = @now, notified_at = iif(${asInteger('@notifies')}, @now, notified_at),
        found_at = @now, message = @message
      -- A time ahead of now by more than the reminders are apart came from a wrong clock.
      where iif(${asInteger('@notifies')}, notified_at, sent_at) not between @sentBefore and 2 * @now - @sentBefore
      returning since`)
    .pluck();
  const update = database.prepare(
    'update alerts set found_at = @now, message = @message where name = @name and subject = @subject',
  );
  const markUnsent = database.prepare('update alerts set notified_at = ? where name = ? and subject = ?');
  const end = database
    .prepare('delete from alerts where name = ? and subject = ? returning notified_at > 0')
    .pluck();
  const list = database.prepare(`
    select name, subject, since, message, found_at as foundAt, notified_at > 0 as isNotified
    from alerts order by name, subject`);
  const deadRuns = database.prepare(
    // Group by group: of one that is muted there may be a million, which are not gone through.
    `select handler, count(*) as count from (
       select failure_groups.handler
       from failure_groups cross join runs indexed by runs_failed on failure = fingerprint and state = 'dead'
       where muted_at is null limit ?)
     group by handler order by count desc, handler`,
  );

  return {
    raise(alert: FoundAlert): AlertToSend | undefined {
      const { wasRaised, ...found } = { ...alert, notifies: Number(alert.notifies) };
      const sentAt = lastSentAt.get(found) as number | undefined;
      if (wasRaised && sentAt === undefined) return undefined;
      const isNew = !sentAt;
      const since = raise.get(found) as number | undefined;
      if (since !== undefined) return { since, isNew };
      update.run(found);
      return undefined;
    },
    markUnsent: (name: string, subject: string, isReminder: boolean): void =>
      void markUnsent.run(Number(isReminder), name, subject),
    end(name: string, subject: string): Pick<KeptAlert, 'isNotified'> | undefined {
      const isNotified = end.get(name, subject);
      return isNotified === undefined ? undefined : { isNotified: isNotified === 1 };
    },
    list: (): KeptAlert[] =>
      (list.all() as (Omit<KeptAlert, 'isNotified'> & { readonly isNotified: number })[]).map((alert) => ({
        ...alert,
        isNotified: alert.isNotified === 1,
      })),
    deadRuns: (limit: number) => deadRuns.all(limit) as DeadRuns[],
  };
}
