import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../../kit/clock.ts';
import { type PostgresPlace, connections, placeName, poolOptions } from './place.ts';
import { Statements, driver } from './statement.ts';

/** A transaction, or connections outside of one, where each statement is one by itself. */
export interface Transaction {
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A transaction whose connection can be lent to the user's function. */
export interface LendingTransaction extends Transaction {
  readonly client: PoolClient;
}

/** The connections to the database. None of them keeps anything from one transaction to the next. */
export class Session implements Transaction {
  readonly name: string;
  readonly clock: Clock;
  readonly statements: Statements;
  readonly #place: PostgresPlace;
  #pool: Pool | undefined;
  #intakePool: Pool | undefined;

  constructor(place: PostgresPlace, clock: Clock) {
    this.#place = place;
    this.name = placeName(place);
    this.clock = clock;
    this.statements = new Statements(place.schema);
  }

  get pool(): Pool {
    this.#pool ??= this.#place.pool ?? this.#ownPool(connections.work);
    return this.#pool;
  }

  /**
   * Statements that deliveries wait for. They have connections of their own: handlers that commit slowly could otherwise keep
   * all of them.
   */
  get intake(): Transaction {
    this.#intakePool ??= this.#place.pool ?? this.#ownPool(connections.intake);
    return this.#on(this.#intakePool);
  }

  /** One statement by itself. */
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.#on(this.pool).query(text, values);
  }

  /** A transaction: committed when `work` has resolved, and rolled back if it rejects. */
  async write<T>(work: (transaction: LendingTransaction) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let broken: Error | undefined;
    // A connection that is lost while nobody waits for it must not end the process.
    const onError = (error: Error) => {
      broken = error;
    };
    client.on('error', onError);
    try {
      await client.query('begin');
      const result = await work(this.transactionOn(client));
      await client.query('commit');
      return result;
    } catch (error) {
      await client.query('rollback').catch((failure: Error) => {
        broken = failure;
      });
      throw error;
    } finally {
      client.removeListener('error', onError);
      // A connection in an unknown state is not given back: its next user would be inside of this transaction.
      client.release(broken);
    }
  }

  /** The transaction that has begun on a connection. */
  transactionOn(client: PoolClient): LendingTransaction {
    return { client, ...this.#on(client) };
  }

  /** Ends the store's own connections; those of the user stay. */
  async close(): Promise<void> {
    const pools = [this.#pool, this.#intakePool].filter((pool) => pool !== this.#place.pool);
    [this.#pool, this.#intakePool] = [undefined, undefined];
    for (const pool of pools) await pool?.end();
  }

  #on(connection: Pool | PoolClient): Transaction {
    return {
      query: async <Row>(text: string, values: readonly unknown[] = []) => {
        const { rows } = await connection.query(this.statements.of(text, values));
        return rows as Row[];
      },
    };
  }

  #ownPool(size: number): Pool {
    const { Pool } = driver();
    const pool = new Pool(poolOptions(this.#place.connectionString ?? '', size));
    // An idle connection that is lost is replaced by the next one that is asked for.
    pool.on('error', () => {});
    return pool;
  }
}
