import type { Pool, PoolClient } from 'pg';
import { type PoolLimits, poolOptions } from './place.ts';
import { driver } from './statement.ts';

/** Connections of the store's own. */
export function makePool(connectionString: string | undefined, limits: PoolLimits): Pool {
  const { Pool } = driver();
  const pool = new Pool(poolOptions(connectionString ?? '', limits));
  // An idle connection that is lost is replaced by the next one that is asked for.
  pool.on('error', () => {});
  return pool;
}

/** Calls a function when something has taken too long. Call the result if it is over before. */
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
   * Takes one. The limit holds for the wait, and again for what is done with it. Its errors are listened for from inside the
   * pool's callback: one for which nobody listens would end the process.
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

  /** The first error with which it was lost, if it was: the driver's own follows what the database has said. */
  get lostBy(): Error | undefined {
    return this.#lostBy;
  }

  /** Gives it back to the pool. */
  release(): void {
    this.#endLimit();
    this.client.removeListener('error', this.#onError);
    this.client.release();
  }

  /** Lets the pool close it. It may still fail until it is closed. */
  discard(error: Error): void {
    this.#endLimit();
    this.client.release(error);
  }

  readonly #onError = (error: Error): void => {
    this.#lostBy ??= error;
  };

  /** Closes it. What is sent on it fails. */
  readonly #cut = (): void => {
    this.#lostBy ??= closed();
    void this.client.end().catch(() => {});
  };
}

function closed(): Error {
  return new Error('the inbox was closed');
}
