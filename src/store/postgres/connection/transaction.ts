import type { Pool, PoolClient } from 'pg';
import { ringbackError } from '../../../errors/errors.ts';
import { inTime } from '../../../kit/clock.ts';
import { type Begun, type OutcomeSource, commitOutcomeOf } from './in-doubt.ts';

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
  readonly pool: Pool;
  readonly incarnation: string | undefined;
  on(client: PoolClient): Transaction;
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
  #begun: Begun | undefined;
  #isLent = false;
  /** A statement of it went on after its end. */
  #goesOn = false;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  get isLent(): boolean {
    return this.#isLent;
  }

  async run<T>(work: (transaction: LendingTransaction) => Promise<T>): Promise<T> {
    // A statement that goes on is ended when the transaction's own connection is back in the pool, or gone.
    const { result, doubt } = await this.#onConnection(work).catch(async (error: unknown) => {
      await this.#terminate();
      throw error;
    });
    // Asked when its connection is back in the pool: as many transactions as the pool has connections may be in doubt at once,
    // and none of them could ask if each kept its own.
    if (doubt && (await commitOutcomeOf(this.#connections, doubt.begun, doubt.cause)) === 'aborted')
      throw doubt.cause;
    return result;
  }

  async #onConnection<T>(work: (transaction: LendingTransaction) => Promise<T>): Promise<Ended<T>> {
    let broken: Error | undefined;
    // A connection that is lost while nobody waits for it must not end the process.
    const onError = (error: Error) => {
      broken = error;
    };
    const client = await connected(this.#connections.pool, onError);
    try {
      const begun = await this.#begin(client);
      const result = await work(this.#lending(client));
      if (this.#isLent) await this.#requireStillOpen(client, begun);
      const cause = await committed(client);
      if (!cause) return { result, doubt: undefined };
      broken = cause;
      return { result, doubt: { begun, cause } };
    } catch (error) {
      broken = (await this.#rolledBack(client)) ?? broken;
      throw error;
    } finally {
      client.removeListener('error', onError);
      // A connection in an unknown state is not given back: its next user would be inside of this transaction.
      client.release(broken);
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
   * opened: see `requireReadCommitted`.
   */
  async #begin(client: PoolClient): Promise<Begun> {
    const { incarnation } = this.#connections;
    const results: unknown = await client.query(
      'begin isolation level read committed; select pg_current_xact_id()::text as id, pg_backend_pid() as backend',
    );
    const [, { rows }] = results as [unknown, { readonly rows: [Pick<Begun, 'id' | 'backend'>] }];
    this.#begun = { ...rows[0], incarnation };
    return this.#begun;
  }

  /** Fails if the user's function has ended the transaction, or a statement of it has failed and the function went on. */
  async #requireStillOpen(client: PoolClient, { id }: Begun): Promise<void> {
    const [still] = await this.#connections
      .on(client)
      .query<{ id: string | null }>('select pg_current_xact_id_if_assigned()::text as id');
    if (still?.id !== id) throw ringbackError('transaction_ended');
  }

  /** Rolls back. Returns the error for which the connection is of no more use, if any. */
  #rolledBack(client: PoolClient): Promise<Error | undefined> {
    const late = new Error('a statement went on after the end of its transaction');
    return inTime(this.#connections.clock, rollbackTimeout, client.query('rollback'), () => late).then(
      () => undefined,
      (error: Error) => {
        this.#goesOn = error === late;
        return error;
      },
    );
  }

  /**
   * Ends the backend whose statement goes on, and keeps its locks. As many transactions as the pool has connections may have to
   * do that at once. Not if the backend is a pooler's, and runs another transaction by then.
   */
  async #terminate(): Promise<void> {
    if (!this.#goesOn || !this.#begun) return;
    const { id, backend } = this.#begun;
    await this.#connections.query(terminateBackend, [backend, id]).catch(() => {});
  }
}

const terminateBackend = `
  select pg_terminate_backend(pid) from pg_stat_activity where pid = $1 and backend_xid = $2::text::xid8::xid`;

/** Commits. Returns the error that came instead of the answer, if any. */
function committed(client: PoolClient): Promise<Error | undefined> {
  return client.query('commit').then(
    () => undefined,
    (error: Error) => error,
  );
}

/**
 * Takes a connection, and listens for its errors from inside the pool's callback: the pool has just stopped listening, and an
 * error that nobody listens for would end the process.
 */
function connected(pool: Pool, onError: (error: Error) => void): Promise<PoolClient> {
  return new Promise((resolve, reject) => {
    pool.connect((error, client) => {
      if (!client) return reject(error ?? new Error('there is no connection'));
      client.on('error', onError);
      resolve(client);
    });
  });
}
