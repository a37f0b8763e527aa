import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../../kit/clock.ts';
import {
  type PoolLimits,
  type PostgresPlace,
  heartbeatConnections,
  intakeConnections,
  placeName,
  poolOptions,
  workConnections,
} from './place.ts';
import { Statements, driver, isConflict } from './statement.ts';
import {
  type Connections,
  type LendingTransaction,
  type Transaction,
  TransactionAttempt,
} from './transaction.ts';

/** How many times a transaction is tried at the most if the database ends it because of others. */
const maxConflicts = 10;

function newStore() {
  return { stop: new AbortController(), incarnation: undefined as string | undefined };
}

/** The connections to the database. None of them keeps anything from one transaction to the next. */
export class Session implements Connections {
  readonly name: string;
  readonly clock: Clock;
  readonly statements: Statements;
  readonly #place: PostgresPlace;
  readonly #limits: PoolLimits;
  /** What all sessions of a store have in common. */
  readonly #store: { readonly stop: AbortController; incarnation: string | undefined };
  #pool: Pool | undefined;
  #intakePool: Pool | undefined;
  #heartbeats: Session | undefined;

  constructor(place: PostgresPlace, clock: Clock, limits = workConnections, store = newStore()) {
    this.#place = place;
    this.#limits = limits;
    this.#store = store;
    this.name = placeName(place);
    this.clock = clock;
    this.statements = new Statements(place.schema);
  }

  get pool(): Pool {
    this.#pool ??= this.#place.pool ?? this.#ownPool(this.#limits);
    return this.#pool;
  }

  /**
   * Statements that deliveries wait for. They have connections of their own: handlers that commit slowly could otherwise keep
   * all of them.
   */
  get intake(): Transaction {
    this.#intakePool ??= this.#place.pool ?? this.#ownPool(intakeConnections);
    return this.on(this.#intakePool);
  }

  /**
   * What keeps this process alive for the others has connections of its own, too: behind many settlements it would come too
   * late, and others would take over what this process works on.
   */
  get heartbeats(): Session {
    this.#heartbeats ??= new Session(this.#place, this.clock, heartbeatConnections, this.#store);
    return this.#heartbeats;
  }

  /**
   * What the database was known by when it was last looked at. It is another after a crash and on a standby that has become
   * the primary: both may have lost what was not yet acknowledged, and give the numbers of those transactions to others.
   */
  get incarnation(): string | undefined {
    return this.#store.incarnation;
  }

  set incarnation(incarnation: string | undefined) {
    this.#store.incarnation = incarnation;
  }

  /** One statement by itself. */
  query<Row>(text: string, values?: readonly unknown[], timeout?: number): Promise<Row[]> {
    return this.on(this.pool).query(text, values, timeout);
  }

  /**
   * A transaction: committed when `work` has resolved, and rolled back if it rejects. One that the database ends because of a
   * deadlock is tried again.
   */
  async write<T>(work: (transaction: LendingTransaction) => Promise<T>): Promise<T> {
    for (let conflicts = 1; ; conflicts += 1) {
      const attempt = new TransactionAttempt(this);
      try {
        return await attempt.run(work);
      } catch (error) {
        if (!isConflict(error) || attempt.isLent || conflicts === maxConflicts) throw error;
      }
    }
  }

  /** Aborted when nobody waits any longer for a database that can't be reached. */
  get signal(): AbortSignal {
    return this.#store.stop.signal;
  }

  abandon(): void {
    this.#store.stop.abort();
  }

  /** Ends the store's own connections; those of the user stay. */
  async close(): Promise<void> {
    const pools = [this.#pool, this.#intakePool].filter((pool) => pool !== this.#place.pool);
    [this.#pool, this.#intakePool] = [undefined, undefined];
    for (const pool of pools) await pool?.end();
    await this.#heartbeats?.close();
    this.#heartbeats = undefined;
  }

  /** What is sent on a connection goes to the inbox's schema, and numbers come back as such. */
  on(connection: Pool | PoolClient): Transaction {
    return {
      query: async <Row>(text: string, values: readonly unknown[] = [], timeout?: number) => {
        const { rows } = await connection.query(this.statements.of(text, values, timeout));
        return rows as Row[];
      },
    };
  }

  #ownPool(limits: PoolLimits): Pool {
    const { Pool } = driver();
    const pool = new Pool(poolOptions(this.#place.connectionString ?? '', limits));
    // An idle connection that is lost is replaced by the next one that is asked for.
    pool.on('error', () => {});
    return pool;
  }
}
