import type { AlertStore, DeadRuns, KeptAlert } from '../../alert-store.ts';
import type { Session } from '../connection/session.ts';

/** Raised alerts in Postgres. */
export const alertsOn = (session: Session): AlertStore => ({
  async raise({ name, subject, message, now, wasRaised, notifies, sentBefore }) {
    const lastSentAt = notifies ? 'notified_at' : 'sent_at';
    const key = [name, subject];
    return session.write(async (transaction) => {
      const [before] = await transaction.query<{ sent_at: number }>(
        `select ${lastSentAt} as sent_at from ringback.alerts where name = $1 and subject = $2 for update`,
        key,
      );
      if (wasRaised && !before) return undefined;
      const [toSend] = await transaction.query<{ since: number }>(
        `insert into ringback.alerts as a (name, subject, since, sent_at, notified_at, found_at, message)
         values ($1, $2, $3, $3, $4, $3, $5)
         on conflict (name, subject) do update set sent_at = $3, found_at = $3, message = $5,
           notified_at = case when $4 = 0 then a.notified_at else $4 end
         -- A time ahead of now by more than the reminders are apart came from a wrong clock.
         where a.${lastSentAt} not between $6::bigint and 2 * $3::bigint - $6::bigint
         returning since`,
        [...key, now, notifies ? now : 0, message, sentBefore],
      );
      if (!toSend)
        await transaction.query(
          'update ringback.alerts set found_at = $3, message = $4 where name = $1 and subject = $2',
          [...key, now, message],
        );
      return toSend && { since: toSend.since, isNew: (before?.sent_at ?? 0) === 0 };
    });
  },

  async markUnsent(name, subject, isReminder) {
    await session.query('update ringback.alerts set notified_at = $3 where name = $1 and subject = $2', [
      name,
      subject,
      Number(isReminder),
    ]);
  },

  async end(name, subject) {
    const [ended] = await session.query<Pick<KeptAlert, 'isNotified'>>(
      'delete from ringback.alerts where name = $1 and subject = $2 returning notified_at > 0 as "isNotified"',
      [name, subject],
    );
    return ended;
  },

  list: () =>
    session.query<KeptAlert>(
      `select name, subject, since, message, found_at as "foundAt", notified_at > 0 as "isNotified"
       from ringback.alerts order by name, subject`,
    ),

  deadRuns: (limit) =>
    session.query<DeadRuns>(
      // Group by group: of one that is muted there may be a million, which are not gone through.
      `select handler, count(*) as count from (
         select g.handler from ringback.failure_groups g cross join lateral (
           select from ringback.runs where failure = fingerprint and state = 'dead' limit $1) dead
         where muted_at is null limit $1) dead
       group by handler order by count desc, handler`,
      [limit],
    ),
});
