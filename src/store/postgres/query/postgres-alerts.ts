import type { AlertStore, FoundAlert, KeptAlert, ToTell } from '../../alert-store.ts';
import type { Session } from '../connection/session.ts';
import { toText } from '../connection/text.ts';
import { oneRow } from '../connection/transaction.ts';

/** Which alerts are raised, in Postgres. */
export const alertsOn = (session: Session): AlertStore => ({
  async raise({ name, subject, message, now, toldBefore }: FoundAlert): Promise<ToTell | undefined> {
    const key = [name, toText(subject)];
    return session.write(async (transaction) => {
      const [before] = await transaction.query<{ told_at: number }>(
        'select told_at from ringback.alerts where name = $1 and subject = $2 for update',
        key,
      );
      const [told] = await transaction.query<{ since: number }>(
        `insert into ringback.alerts as a (name, subject, since, told_at, message) values ($1, $2, $3, $3, $4)
         on conflict (name, subject) do update set told_at = $3, message = $4 where a.told_at < $5
         returning since`,
        [...key, now, toText(message), toldBefore],
      );
      if (!told)
        await transaction.query(
          'update ringback.alerts set message = $3 where name = $1 and subject = $2 and message <> $3',
          [...key, toText(message)],
        );
      return told && { since: told.since, isNew: (before?.told_at ?? 0) === 0 };
    });
  },

  async untold(name: string, subject: string): Promise<void> {
    await session.query('update ringback.alerts set told_at = 0 where name = $1 and subject = $2', [
      name,
      toText(subject),
    ]);
  },

  async end(name: string, subject: string): Promise<boolean> {
    const [ended] = await session.query<{ isTold: boolean }>(
      'delete from ringback.alerts where name = $1 and subject = $2 returning told_at > 0 as "isTold"',
      [name, toText(subject)],
    );
    return ended?.isTold === true;
  },

  list(): Promise<readonly KeptAlert[]> {
    return session.query<KeptAlert>(
      'select name, subject, since, message from ringback.alerts order by name, subject',
    );
  },

  async deadRuns(limit: number): Promise<number> {
    const { count } = await oneRow<{ count: number }>(
      session,
      // Group by group: of one that is muted there may be a million, which are not gone through.
      `select count(*) as count from (
         select from ringback.failure_groups cross join lateral (
           select from ringback.runs where failure = fingerprint and state = 'dead' limit $1) dead
         where muted_at is null limit $1) dead`,
      [limit],
    );
    return count;
  },
});
