import type { PoolClient } from 'pg';
import { ringbackError } from '../../../errors/errors.ts';
import { inTime } from '../../../kit/clock.ts';
import { type Begun, type OutcomeSource, commitOutcomeOf } from './in-doubt.ts';
import { withReason } from './opening-cause.ts';
import type { TakenConnection } from './pool.ts';
import type { Backend } from './unanswered.ts';

/** How long ROLLBACK may wait for a statement that still runs, in milliseconds, before its backend is terminated. */
export const rollbackTimeout = 1_000;

/** A transaction, or connections outside of one, where each statement is one by itself. */
export interface Transaction {
  /** `timeout`: in milliseconds, if the statement may not take as long as others of its connection. */
  query<Row>(text: string, values?: readonly unknown[], timeout?: number): Promise<Row[]>;
}

/** The row of a statement that always gives one. */
export async function oneRow<Row>(
  transaction: Transaction,
  text: string,
  values?: readonly unknown[],
): Promise<Row> {
  const [row] = await transaction.query<Row>(text, values);
  if (!row) throw new Error('The database has answered nothing.');
  return row;
}

/** A transaction whose connection can be lent to the user's function. */
export interface LendingTransaction extends Transaction {
  /** From then on the transaction is not made again by itself: only the user can tell whether the function may be. */
  lend(): PoolClient;
}

/** Where transactions are made. */
export interface Connections extends OutcomeSource {
  readonly incarnation: string | undefined;
  take(): Promise<TakenConnection>;
  on(client: PoolClient): Transaction;
  /** Gives a connection back that failed with an error. `backend`: what may go on, unless the error is an answer. */
  giveBack(connection: TakenConnection, error: Error, backend?: Backend): void;
}

/**
 * How a transaction ended. If COMMIT was not answered, or with an error, it is in doubt until the database has told what became
 * of it: to take it for failed would have the same done twice, to take it for done could lose it.
 */
interface Ended<T> {
  readonly result: T;
  readonly doubt: { readonly begun: Begun; readonly cause: Error } | undefined;
}

/** A transaction that is made once. It is committed when `work` has resolved, and rolled back if it rejects. */
export class TransactionAttempt {
  readonly #connections: Connections;
  #isLent = false;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  get isLent(): boolean {
    return this.#isLent;
  }

  async run<T>(work: (transaction: LendingTransaction) => Promise<T>): Promise<T> {
    const { result, doubt } = await this.#onConnection(work);
    // Asked when its connection is back in the pool: as many transactions as the pool has connections may be in doubt at once,
    // and none of them could ask if each kept its own.
    if (doubt && (await commitOutcomeOf(this.#connections, doubt.begun, doubt.cause)) === 'aborted')
      throw doubt.cause;
    return result;
  }

  async #onConnection<T>(work: (transaction: LendingTransaction) => Promise<T>): Promise<Ended<T>> {
    let broken: Error | undefined;
    let begun: Begun | undefined;
    const connection = await this.#connections.take();
    const { client } = connection;
    try {
      begun = await this.#begin(client);
      const result = await work(this.#lending(client));
      if (this.#isLent) await this.#requireStillOpen(client, begun);
      const cause = await committed(client);
      if (!cause) return { result, doubt: undefined };
      broken = cause;
      return { result, doubt: { begun, cause } };
    } catch (error) {
      broken = await this.#rolledBack(client);
      throw withReason(error, connection.lostBy);
    } finally {
      broken ??= connection.lostBy;
      // A connection in an unknown state must not be taken by others: they would be inside of this transaction.
      if (broken) this.#connections.giveBack(connection, broken, begun && backendOf(begun));
      else connection.release();
    }
  }

  #lending(client: PoolClient): LendingTransaction {
    const lend = () => {
      this.#isLent = true;
      return client;
    };
    return { ...this.#connections.on(client), lend };
  }

  /**
   * In one round trip. The isolation is that of the default, unless somebody has changed the database's since the store was
   * opened: see `requireSuitable`.
   */
  async #begin(client: PoolClient): Promise<Begun> {
    const { incarnation } = this.#connections;
    const results: unknown = await client.query(
      'begin isolation level read committed; select pg_current_xact_id()::text as id, pg_backend_pid() as backend',
    );
    const [, { rows }] = results as [unknown, { readonly rows: [Pick<Begun, 'id' | 'backend'>] }];
    return { ...rows[0], incarnation };
  }

  /** Fails if the user's function has ended the transaction, or a statement of it has failed and the function went on. */
  async #requireStillOpen(client: PoolClient, { id }: Begun): Promise<void> {
    const [still] = await this.#connections
      .on(client)
      .query<{ id: string | null; status: string | null }>(
        'select pg_current_xact_id_if_assigned()::text as id, pg_xact_status($1::text::xid8) as status',
        [id],
      );
    if (still?.id !== id)
      throw ringbackError('transaction_ended', { isCommitted: still?.status === 'committed' });
  }

  /** Rolls back. Returns the error for which the connection is of no more use, if any. */
  #rolledBack(client: PoolClient): Promise<Error | undefined> {
    const late = new Error('a statement went on after the end of its transaction');
    return inTime(this.#connections.clock, rollbackTimeout, client.query('rollback'), () => late).then(
      () => undefined,
      (error: Error) => error,
    );
  }
}

function backendOf({ id, backend }: Begun): Backend {
  return { pid: backend, transaction: id };
}

/** Commits. Returns the error that came instead of the answer, if any. */
function committed(client: PoolClient): Promise<Error | undefined> {
  return client.query('commit').then(
    () => undefined,
    (error: Error) => error,
  );
}
