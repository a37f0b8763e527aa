import type { Pool, PoolClient } from 'pg';
import type { PoolLimits } from './target.ts';
import { driver } from './statement.ts';

/** Makes a pool of the store's own connections. */
export function makePool(connectionString: string | undefined, { max, timeout }: PoolLimits): Pool {
  const { Pool } = driver();
  const pool = new Pool({
    connectionString,
    max,
    connectionTimeoutMillis: timeout,
    application_name: 'ringback',
    keepAlive: true,
  });
  // Without a listener, the loss of an idle connection would end the process; the pool replaces it.
  pool.on('error', () => {});
  return pool;
}

/** Calls `onLate` when something has taken too long. Call the returned function when it is over. */
export type Limit = (onLate: () => void) => () => void;

export class TakenConnection {
  readonly client: PoolClient;
  readonly #endLimit: () => void;
  #lostBy: Error | undefined;

  private constructor(client: PoolClient, limit: Limit) {
    this.client = client;
    client.on('error', this.#onError);
    this.#endLimit = limit(this.#cut);
  }

  /**
   * Takes a connection. The limit applies to the wait, and again to its use. The listener for errors is added inside
   * the pool's callback, because an error without a listener would end the process.
   */
  static from(pool: Pool, limit: Limit): Promise<TakenConnection> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const endLimit = limit(() => {
        isLate = true;
        reject(closed());
      });
      pool.connect((error, client) => {
        endLimit();
        if (!client) reject(error ?? new Error('there is no connection'));
        else if (isLate) client.release();
        else resolve(new TakenConnection(client, limit));
      });
    });
  }

  /** The first error by which the connection was lost, if it was: the database's own comes before the driver's. */
  get lostBy(): Error | undefined {
    return this.#lostBy;
  }

  release(): void {
    this.#endLimit();
    this.client.removeListener('error', this.#onError);
    this.client.release();
  }

  /** Lets the pool close the connection. The listener stays, because errors may still come until then. */
  discard(error: Error): void {
    this.#endLimit();
    this.client.release(error);
  }

  readonly #onError = (error: Error): void => {
    this.#lostBy ??= error;
  };

  /** Closes the connection: its statements fail. */
  readonly #cut = (): void => {
    this.#lostBy ??= closed();
    void this.client.end().catch(() => {});
  };
}

function closed(): Error {
  return new Error('the inbox was closed');
}
