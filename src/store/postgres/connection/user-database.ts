import type { PoolClient } from 'pg';
import type { AsyncInboxDatabase } from '../../../dispatch/handler.ts';
import { ringbackError } from '../../../errors/errors.ts';
import { isThenable } from '../../../kit/values.ts';
import type { Session } from './session.ts';
import { type UserTransaction, endTimeouts, oneRow } from './transaction.ts';

/** Runs the user's function on the connection of a transaction, which it can use until it has ended. */
export async function withUserClient<Result>(
  transaction: UserTransaction,
  work: (client: PoolClient) => Result | PromiseLike<Result>,
): Promise<Result> {
  const { client, end } = scopedClient(transaction.userClient());
  try {
    return await work(client);
  } finally {
    end();
  }
}

/** The client for the user's function, usable until `end` is called: later statements would be in no transaction. */
function scopedClient(client: PoolClient): { readonly client: PoolClient; readonly end: () => void } {
  let isOver = false;
  // Properties that the user or a library sets on the client must not remain for its next user.
  const noted = new Map<string | symbol, unknown>();
  const scoped: PoolClient = new Proxy(client, {
    set: (_target, key, value) => Boolean(noted.set(key, value)),
    get(target, key) {
      if (noted.has(key)) return noted.get(key);
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (isOver || key === 'release') throw ringbackError('commit_ended');
        const result = (value as (...args: unknown[]) => unknown).apply(target, args);
        // A statement that nobody awaits must not end the process: the transaction fails for it all the same.
        if (isThenable(result)) result.then(undefined, () => {});
        // As methods of an emitter return: the client itself could still be used after `end`.
        return result === target ? scoped : result;
      };
    },
  });
  return {
    client: scoped,
    end: () => {
      isOver = true;
    },
  };
}

interface Timeouts {
  readonly lock: string;
  readonly statement: string;
}

const timeouts = `select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement`;
const setTimeouts = `
  select set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true)`;

/** The inbox's database for users' own tables. */
export function inboxDatabase(session: Session): AsyncInboxDatabase<PoolClient> {
  return {
    transaction: <Result>(work: (transaction: PoolClient) => Result | PromiseLike<Result>) =>
      session.write(
        async (transaction) => {
          const key = `ringback:${session.statements.schema}:users`;
          const { lock, statement } = await oneRow<Timeouts>(transaction, timeouts);
          // Without a timeout: another process may be making an index.
          await endTimeouts(transaction);
          await transaction.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [key], 0);
          // The user's statements have those of the connection.
          await transaction.query(setTimeouts, [lock, statement]);
          return withUserClient(transaction, work);
        },
        { mayIdle: true },
      ),
  };
}
