import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../../kit/clock.ts';
import { type PostgresPlace, connections, placeName, poolOptions } from './place.ts';
import { Statements, driver } from './statement.ts';

/** A transaction, or a connection outside of one. */
export interface Transaction {
  query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** A transaction whose connection can be lent to the user's function. */
export interface LendingTransaction extends Transaction {
  readonly client: PoolClient;
}

/** The connections to the database. None of them keeps anything from one transaction to the next. */
export class Session {
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
  get intake(): Pick<Transaction, 'query'> {
    this.#intakePool ??= this.#place.pool ?? this.#ownPool(connections.intake);
    const pool = this.#intakePool;
    return {
      query: async <Row>(text: string, values: readonly unknown[] = []) => {
        const { rows } = await pool.query(this.statements.of(text, values));
        return rows as Row[];
      },
    };
  }

  /** One statement by itself. */
  async read<Row>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await this.pool.query(this.statements.of(text, values));
    return rows as Row[];
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
    return { client, query: (text, values = []) => this.#query(client, text, values) };
  }

  /** Ends the store's own connections; those of the user stay. */
  async close(): Promise<void> {
    const pools = [this.#pool, this.#intakePool].filter((pool) => pool !== this.#place.pool);
    [this.#pool, this.#intakePool] = [undefined, undefined];
    for (const pool of pools) await pool?.end();
  }

  async #query<Row>(client: PoolClient, text: string, values: readonly unknown[]): Promise<Row[]> {
    const { rows } = await client.query(this.statements.of(text, values));
    return rows as Row[];
  }

  #ownPool(size: number): Pool {
    const { Pool } = driver();
    const pool = new Pool(poolOptions(this.#place.connectionString ?? '', size));
    // An idle connection that is lost is replaced by the next one that is asked for.
    pool.on('error', () => {});
    return pool;
  }
}

/** Statements that need no transaction around them: each is one by itself. */
export function outside(session: Session): Pick<Transaction, 'query'> {
  return { query: (text, values) => session.read(text, values) };
}
