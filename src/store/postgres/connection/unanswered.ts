import type { Pool } from 'pg';
import { type Clock, pause } from '../../../kit/clock.ts';
import { storePause } from '../../timeouts.ts';
import type { PoolLimits, PostgresPlace } from './place.ts';
import { type TakenConnection, makePool } from './pool.ts';
import { isAnswer } from './statement.ts';

/** What the database runs for a connection. Behind a pooler, the same process of the database may run something else by now. */
export type Backend = { readonly pid: number } & (
  | { readonly transaction: string; readonly statement?: undefined }
  | { readonly transaction?: undefined; readonly statement: string }
);

/** Its own, so that it is free when all others wait; and soon given up, for the connections that are held wait for it. */
const askingConnections: PoolLimits = { max: 1, timeout: 2_000 };

/**
 * Connections whose statement was given up, while the database may still run it.
 *
 * Closing the connection ends no statement: a backend that waits for a lock, or for a synchronous standby, notices nothing.
 * Each would be replaced by another that waits, until the server has no connection left for anybody. So its backend is ended
 * first. One that waits for a standby has committed, and would show others what the standby lacks: it is left alone, and the
 * connection counts as taken until the wait is over. The store never has more backends than connections.
 */
export class Unanswered {
  readonly #place: PostgresPlace;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #ownPool: Pool | undefined;

  /** `signal`: aborted when no connection has to be held any longer. */
  constructor(place: PostgresPlace, clock: Clock, signal: AbortSignal) {
    this.#place = place;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Gives a connection back that failed. `backend`: what may go on, unless the error is the database's answer. */
  giveBack(connection: TakenConnection, error: Error, backend: Backend | undefined): void {
    const discard = (): void => connection.discard(error);
    if (isAnswer(error) || connection.lostBy || !backend) return discard();
    const { pool } = this.#place;
    if (!pool) {
      // A database that can't be asked can't be connected to either.
      this.#ended(backend).then(discard, discard);
      return;
    }
    // First: of the user's connections, it may be the only one that can be had to end the statement.
    discard();
    end(pool, backend).catch(() => {});
  }

  /** Each session of the store closes it, and a pool takes no second end. */
  async close(): Promise<void> {
    const pool = this.#ownPool;
    this.#ownPool = undefined;
    await pool?.end();
  }

  /** Resolves when the backend no longer runs what it ran. */
  async #ended(backend: Backend): Promise<void> {
    this.#ownPool ??= makePool(this.#place.connectionString, askingConnections);
    while (!this.#signal.aborted && (await end(this.#ownPool, backend)))
      await pause(this.#clock, storePause, this.#signal);
  }
}

/** Ends what the backend runs. Resolves to whether it waits for a standby instead. */
async function end(pool: Pool, { pid, transaction, statement }: Backend): Promise<boolean> {
  const { rows } = await pool.query<{ waits: boolean }>(endStatement, [pid, transaction, statement]);
  return rows[0]?.waits ?? false;
}

/** Of a long statement, the database tells only the beginning. */
const endStatement = `
  select wait_event is not distinct from 'SyncRep' as waits,
         case when wait_event is distinct from 'SyncRep' then pg_terminate_backend(pid) end
    from pg_stat_activity
   where pid = $1 and state = 'active' and (backend_xid = $2::text::xid8::xid or starts_with($3, query))`;
