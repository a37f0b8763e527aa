import type { PoolClient } from 'pg';
import type { AsyncInboxDatabase } from '../../../dispatch/handling.ts';
import { scopedClient } from './scoped-client.ts';
import type { Session } from './session.ts';

/** The inbox's database for users' own tables. */
export function usersDatabase(session: Session): AsyncInboxDatabase<PoolClient> {
  return {
    transaction: <Result>(work: (transaction: PoolClient) => Result | PromiseLike<Result>) =>
      session.write(async (transaction) => {
        await transaction.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [
          `ringback:${session.statements.schema}:users`,
        ]);
        const scoped = scopedClient(transaction.lend());
        try {
          return await work(scoped.client);
        } finally {
          scoped.end();
        }
      }),
  };
}
