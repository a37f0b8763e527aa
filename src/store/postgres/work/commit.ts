import type { PoolClient } from 'pg';
import { ringbackError } from '../../../errors/errors.ts';
import { pause } from '../../../kit/clock.ts';
import { storePause } from '../../store-pause.ts';
import type { LendingTransaction, Session } from '../connection/session.ts';

/** How long a statement of the user's may go on behind its transaction's end, in milliseconds. */
const rollbackTimeout = 1_000;

/** How a commit went whose answer did not come. */
type Fate = 'committed' | 'aborted';

/**
 * A transaction in which the user's function writes. Should the connection be lost while COMMIT is on its way, the database is
 * asked what became of it: to take it for failed would have the effects made twice, to take it for done could lose them.
 */
export async function commitWith<T>(
  session: Session,
  stop: AbortSignal,
  work: (transaction: LendingTransaction) => Promise<T>,
): Promise<T> {
  const client = await session.pool.connect();
  let broken: Error | undefined;
  const begun: Begun = { id: '', backend: 0 };
  const onError = (error: Error) => {
    broken = error;
  };
  client.on('error', onError);
  try {
    return await inTransaction(session, client, begun, { stop, work });
  } catch (error) {
    broken = (await rolledBack(session, client, begun)) ?? broken;
    throw error;
  } finally {
    client.removeListener('error', onError);
    client.release(broken);
  }
}

/** A transaction that has begun: its number, and the process of the database that runs it, which may be a pooler's. */
interface Begun {
  id: string;
  backend: number;
}

async function inTransaction<T>(
  session: Session,
  client: PoolClient,
  begun: Begun,
  {
    stop,
    work,
  }: {
    readonly stop: AbortSignal;
    readonly work: (transaction: LendingTransaction) => Promise<T>;
  },
): Promise<T> {
  await client.query('begin');
  const transaction = session.transactionOn(client);
  const [row] = await transaction.query<Begun>(
    'select pg_current_xact_id()::text as id, pg_backend_pid() as backend',
  );
  const { id } = Object.assign(begun, row);
  const result = await work(transaction);
  // Also fails if a statement of the function has failed and the function went on: nothing would be written then.
  const [still] = await transaction.query<{ id: string | null }>(
    'select pg_current_xact_id_if_assigned()::text as id',
  );
  if (still?.id !== id) throw ringbackError('transaction_ended');
  try {
    await client.query('commit');
  } catch (error) {
    if ((await fateOf(session, id, stop, error)) === 'aborted') throw error;
  }
  return result;
}

/** What became of a transaction, asked until the database has told. */
async function fateOf(session: Session, id: string, stop: AbortSignal, cause: unknown): Promise<Fate> {
  for (;;) {
    try {
      const [row] = await session.query<{ status: string | null }>(
        'select pg_xact_status($1::text::xid8) as status',
        [id],
      );
      if (row?.status === 'committed' || row?.status === 'aborted') return row.status;
    } catch (error) {
      // A standby that has become the primary without this transaction has never given its number.
      if (isUnknownTransaction(error)) return 'aborted';
    }
    if (stop.aborted) throw cause;
    await pause(session.clock, storePause, stop);
  }
}

function isUnknownTransaction(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '22023';
}

/** Rolls back. Returns the error for which the connection is of no more use, if any. */
async function rolledBack(
  session: Session,
  client: PoolClient,
  { backend }: Begun,
): Promise<Error | undefined> {
  const rollback = client.query('rollback').then(
    () => undefined,
    (error: Error) => error,
  );
  const { promise: late, resolve } = Promise.withResolvers<'late'>();
  const cancel = session.clock.after(rollbackTimeout, () => resolve('late'));
  const result = await Promise.race([rollback, late]);
  cancel();
  if (result !== 'late') return result;
  // A statement of the user's goes on, and keeps its locks: without its connection it ends.
  await session.query('select pg_terminate_backend($1)', [backend]).catch(() => {});
  return new Error('a statement went on behind the end of its transaction');
}

/** The client as the user's function gets it, until `end` is called: what comes later would be in no transaction. */
export function scopedClient(client: PoolClient): { readonly client: PoolClient; readonly end: () => void } {
  let isOver = false;
  const lent = new Proxy(client, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (isOver || key === 'release') throw ringbackError('database_lent');
        return (value as (...args: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  return {
    client: lent,
    end: () => {
      isOver = true;
    },
  };
}
