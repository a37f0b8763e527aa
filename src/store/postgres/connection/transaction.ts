import type { PoolClient } from 'pg';
import { ringbackError } from '../../../errors/errors.ts';
import { inTime } from '../../../kit/clock.ts';
import { type Begun, type OutcomeSource, commitOutcomeOf } from './in-doubt.ts';
import { withReason } from './opening-cause.ts';
import type { TakenConnection } from './pool.ts';
import { isReadOnly } from './statement.ts';
import type { Backend } from './unanswered.ts';

/** How long ROLLBACK may wait for a statement that still runs, in milliseconds, before its backend is terminated. */
export const rollbackTimeout = 1_000;

/**
 * How long a transaction of the store's own may be idle between two statements, in milliseconds: longer than a process
 * may be without a heartbeat. A suspended or lost process would otherwise keep its locks until its connection is found to
 * be lost, which may take hours: a takeover ends only transactions about claims.
 */
const idleTimeout = 10_000;

export interface TransactionOptions {
  /** Whether it may be idle for longer, such as while the user's function waits for something else. */
  readonly mayIdle?: boolean;
}

/** A transaction, or connections outside of one, where each statement is its own transaction. */
export interface Transaction {
  /** `timeout`: in milliseconds, if the statement must not take as long as others of its connection. */
  query<Row>(text: string, values?: readonly unknown[], timeout?: number): Promise<Row[]>;
}

/** The row of a statement that always returns one. */
export async function oneRow<Row>(
  transaction: Transaction,
  text: string,
  values?: readonly unknown[],
): Promise<Row> {
  const [row] = await transaction.query<Row>(text, values);
  if (!row) throw new Error('The database has answered nothing.');
  return row;
}

/** Ends the timeouts of the user's role for the rest of the transaction. */
export async function endTimeouts(transaction: Transaction): Promise<void> {
  await transaction.query('set local lock_timeout = 0; set local statement_timeout = 0');
}

/** A transaction whose connection can be given to the user's function. */
export interface UserTransaction extends Transaction {
  /** From then on the transaction is not repeated after a conflict: only the user knows whether the function may be. */
  userClient(): PoolClient;
}

/** Where transactions are made. */
export interface Connections extends OutcomeSource {
  readonly incarnation: string | undefined;
  take(): Promise<TakenConnection>;
  on(client: PoolClient): Transaction;
  /** Sends a statement of the store's own. */
  send(client: PoolClient, text: string): Promise<unknown>;
  /** Gives back a connection that failed. `backend` may still run, unless the error is the database's answer. */
  giveBack(connection: TakenConnection, error: Error, backend?: Backend): void;
}

/**
 * How a transaction ended. If COMMIT failed or was not answered, the transaction is in doubt until the database tells
 * its outcome: taken for failed, it could be done twice, and taken for done, it could be lost.
 */
interface Ended<T> {
  readonly result: T;
  readonly doubt: { readonly begun: Begun; readonly cause: Error } | undefined;
}

/** One try of a transaction. It is committed when `work` resolves, and rolled back if it rejects. */
export class TransactionAttempt {
  readonly #connections: Connections;
  readonly #mayIdle: boolean;
  #isGivenToUser = false;

  constructor(connections: Connections, { mayIdle = false }: TransactionOptions) {
    this.#connections = connections;
    this.#mayIdle = mayIdle;
  }

  get isGivenToUser(): boolean {
    return this.#isGivenToUser;
  }

  async run<T>(work: (transaction: UserTransaction) => Promise<T>): Promise<T> {
    const { result, doubt } = await this.#onConnection(work);
    // Only after its connection is back in the pool: all connections may have a transaction in doubt at once, and if
    // each kept its own, none could ask.
    if (doubt && (await commitOutcomeOf(this.#connections, doubt.begun, doubt.cause)) === 'aborted')
      throw doubt.cause;
    return result;
  }

  async #onConnection<T>(work: (transaction: UserTransaction) => Promise<T>): Promise<Ended<T>> {
    let broken: Error | undefined;
    let begun: Begun | undefined;
    const connection = await this.#connections.take();
    const { client } = connection;
    try {
      begun = await this.#begin(client);
      const result = await work(this.#forUser(client));
      if (this.#isGivenToUser) await this.#requireStillOpen(client, begun);
      const cause = await errorOf(this.#connections.send(client, 'commit'));
      if (!cause) return { result, doubt: undefined };
      broken = cause;
      return { result, doubt: { begun, cause } };
    } catch (error) {
      // A connection made just after a failover may lead to the former primary, now a standby, as its host's name did. If
      // it were used again, nothing would be claimed or settled as long as it lasts, while deliveries go on elsewhere.
      broken = (await this.#rolledBack(client)) ?? (isReadOnly(error) ? error : undefined);
      throw withReason(error, connection.lostBy);
    } finally {
      broken ??= connection.lostBy;
      // A connection in an unknown state must not be reused: others would be inside this transaction.
      if (broken) this.#connections.giveBack(connection, broken, begun && backendOf(begun));
      else connection.release();
    }
  }

  #forUser(client: PoolClient): UserTransaction {
    const userClient = () => {
      this.#isGivenToUser = true;
      return client;
    };
    return { ...this.#connections.on(client), userClient };
  }

  /**
   * In one round trip. Names the isolation, because somebody may have changed the database's default since the store
   * was opened: see `requireSuitable`.
   */
  async #begin(client: PoolClient): Promise<Begun> {
    const { incarnation } = this.#connections;
    const limit = this.#mayIdle ? '' : `; set local idle_in_transaction_session_timeout = ${idleTimeout}`;
    const results = await this.#connections.send(
      client,
      `begin isolation level read committed${limit}; select pg_current_xact_id()::text as id, pg_backend_pid() as backend`,
    );
    const { rows } = (results as unknown[]).at(-1) as { readonly rows: [Pick<Begun, 'id' | 'backend'>] };
    return { ...rows[0], incarnation };
  }

  /** Fails if the user's function has ended the transaction, or has ignored that one of its statements failed. */
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

  /** Rolls back. Resolves to the error that makes the connection unusable, if any. */
  #rolledBack(client: PoolClient): Promise<Error | undefined> {
    const late = new Error('a statement went on after the end of its transaction');
    return errorOf(inTime(this.#connections.clock, rollbackTimeout, client.query('rollback'), () => late));
  }
}

function backendOf({ id, backend }: Begun): Backend {
  return { pid: backend, transaction: id };
}

/** Resolves to the error that comes instead of success, if any. */
function errorOf(answer: Promise<unknown>): Promise<Error | undefined> {
  return answer.then(
    () => undefined,
    (error: Error) => error,
  );
}
