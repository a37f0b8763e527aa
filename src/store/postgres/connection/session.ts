import type { Pool, PoolClient } from 'pg';
import { ringbackError } from '../../../errors/errors.ts';
import { unlessAborted } from '../../../kit/aborting.ts';
import { type Clock, inTime } from '../../../kit/clock.ts';
import { Semaphore } from '../../../kit/limiters.ts';
import {
  type PoolLimits,
  type PostgresTarget,
  heartbeatConnections,
  intakeConnections,
  maxUserTransactions,
  targetName,
  workConnections,
} from './target.ts';
import { namedProblem } from './opening-cause.ts';
import { type Limit, TakenConnection, makePool } from './pool.ts';
import { Statements, isConflict } from './statement.ts';
import {
  type Connections,
  type UserTransaction,
  type Transaction,
  TransactionAttempt,
  type TransactionOptions,
} from './transaction.ts';
import { type Backend, Unanswered } from './unanswered.ts';

/** How long a connection may still be waited for, and used, once the store must close, in milliseconds. */
export const closeTimeout = 3_000;

/** How many times a transaction is tried at most if the database ends it because of others. */
const maxConflicts = 10;

function newStore(target: PostgresTarget, clock: Clock) {
  const stop = new AbortController();
  const unanswered = new Unanswered(target, clock, stop.signal);
  return { stop, unanswered, isClosed: false, incarnation: undefined as string | undefined };
}

/**
 * The connections to the database. None keeps any state from one transaction to the next, so that a pooler may be used.
 */
export class Session implements Connections {
  readonly name: string;
  readonly clock: Clock;
  readonly statements: Statements;
  readonly #target: PostgresTarget;
  readonly #limits: PoolLimits;
  /** What all sessions of a store share. */
  readonly #store: ReturnType<typeof newStore>;
  readonly #userTransactions = new Semaphore(maxUserTransactions);
  #pool: Pool | undefined;
  #intake: Session | undefined;
  #heartbeats: Session | undefined;

  constructor(
    target: PostgresTarget,
    clock: Clock,
    limits = workConnections,
    store = newStore(target, clock),
  ) {
    this.#target = target;
    this.#limits = limits;
    this.#store = store;
    this.name = targetName(target);
    this.clock = clock;
    this.statements = new Statements(target.schema);
  }

  get pool(): Pool {
    this.#pool ??= this.#target.pool ?? makePool(this.#target.connectionString, this.#limits);
    return this.#pool;
  }

  /** For deliveries. Has connections of its own, because handlers that commit slowly could keep all others. */
  get intake(): Session {
    this.#intake ??= new Session(this.#target, this.clock, intakeConnections, this.#store);
    return this.#intake;
  }

  /**
   * For heartbeats, which have connections of their own, too: behind many settlements they would come too late, and
   * others would take over what this process works on.
   */
  get heartbeats(): Session {
    this.#heartbeats ??= new Session(this.#target, this.clock, heartbeatConnections, this.#store);
    return this.#heartbeats;
  }

  /**
   * The database's incarnation when it was last read. It changes after a crash, and when a standby becomes the primary:
   * both may have lost transactions that were not yet acknowledged, and give their numbers to others.
   */
  get incarnation(): string | undefined {
    return this.#store.incarnation;
  }

  set incarnation(incarnation: string | undefined) {
    this.#store.incarnation = incarnation;
  }

  /** One statement by itself, on any connection. */
  async query<Row>(text: string, values?: readonly unknown[], timeout?: number): Promise<Row[]> {
    let connection: TakenConnection | undefined;
    try {
      connection = await this.take();
      const rows = await this.on(connection.client).query<Row>(text, values, timeout);
      connection.release();
      return rows;
    } catch (error) {
      const statement = this.statements.inSchema(text);
      if (connection) this.giveBack(connection, error as Error, backendOf(connection.client, statement));
      throw namedProblem(error, this.name);
    }
  }

  /**
   * A transaction: committed when `work` resolves, and rolled back if it rejects. One that the database ends because of
   * others, such as in a deadlock, is tried again, unless its connection was given to the user.
   */
  async write<T>(
    work: (transaction: UserTransaction) => Promise<T>,
    options: TransactionOptions = {},
  ): Promise<T> {
    if (options.mayIdle !== true) return this.#written(work, options);
    const end = await this.#userTransaction();
    return this.#written(work, options).finally(end);
  }

  /** Waits for others to end, if there are too many, for as long as for a connection, until the store must close. */
  async #userTransaction(): Promise<() => void> {
    // The user's pool may have any number of connections.
    if (this.#target.pool) return () => {};
    const { timeout } = this.#limits;
    const begun = this.#userTransactions.acquire();
    const late = () => new Error(`other functions have kept the connections of ctx.commit for ${timeout} ms`);
    try {
      return await inTime(
        this.clock,
        timeout,
        unlessAborted(this.signal, () => begun),
        late,
      );
    } catch (error) {
      void begun.then((end) => end());
      throw error;
    }
  }

  async #written<T>(
    work: (transaction: UserTransaction) => Promise<T>,
    options: TransactionOptions,
  ): Promise<T> {
    for (let conflicts = 1; ; conflicts += 1) {
      const attempt = new TransactionAttempt(this, options);
      try {
        return await attempt.run(work);
      } catch (error) {
        // An error of the user's own statement stays as it is: it may name a table of the user's that is missing.
        if (attempt.isGivenToUser) throw error;
        if (!isConflict(error) || conflicts === maxConflicts) throw namedProblem(error, this.name);
      }
    }
  }

  /** Aborted when the store must no longer wait for a database that can't be reached. */
  get signal(): AbortSignal {
    return this.#store.stop.signal;
  }

  /** From now on, statements that the database doesn't answer soon fail: they may wait for a lock that never comes. */
  abandon(): void {
    this.#store.stop.abort(ringbackError('database_closed', { database: this.name }));
  }

  /** Once the store is closed, nothing makes a connection again: nobody would end it. */
  take(): Promise<TakenConnection> {
    if (this.#store.isClosed)
      return Promise.reject(ringbackError('database_closed', { database: this.name }));
    return TakenConnection.from(this.pool, this.#onceAbandoned);
  }

  /** Ends the store's own connections; those of the user stay. */
  async close(): Promise<void> {
    this.#store.isClosed = true;
    this.abandon();
    const pool = this.#target.pool ? undefined : this.#pool;
    const parts = [this.#intake, this.#heartbeats, this.#store.unanswered];
    [this.#pool, this.#intake, this.#heartbeats] = [undefined, undefined, undefined];
    const ended = [Promise.resolve(pool?.end()), ...parts.map(async (part) => part?.close())];
    const late = () => new Error('the database has not answered');
    await inTime(this.clock, closeTimeout, Promise.all(ended), late).catch(() => {});
  }

  /** Statements on a connection, in the inbox's schema, that return 8-byte integers as numbers. */
  on(client: PoolClient): Transaction {
    return {
      query: async <Row>(text: string, values?: readonly unknown[], timeout?: number) =>
        (await this.send(client, text, values, timeout)).rows as Row[],
    };
  }

  /** Statements of the user's own, which are sent without this, have the time that they need. */
  send(client: PoolClient, text: string, values: readonly unknown[] = [], timeout = this.#limits.timeout) {
    return client.query(this.statements.of(text, values, timeout));
  }

  giveBack(connection: TakenConnection, error: Error, backend?: Backend): void {
    this.#store.unanswered.giveBack(connection, error, backend);
  }

  readonly #onceAbandoned: Limit = (onLate) => {
    let cancel: (() => void) | undefined;
    const begin = (): void => {
      cancel = this.clock.after(closeTimeout, onLate);
    };
    if (this.signal.aborted) begin();
    else this.signal.addEventListener('abort', begin);
    return () => {
      cancel?.();
      this.signal.removeEventListener('abort', begin);
    };
  };
}

/** `processID` comes from the database when a connection is made; the driver's types don't have it. */
function backendOf(client: PoolClient, statement: string): Backend | undefined {
  const { processID } = client as { readonly processID?: number | null };
  return typeof processID === 'number' ? { pid: processID, statement } : undefined;
}
