import type { Pool } from 'pg';
import { type Clock, pause } from '../../../kit/clock.ts';
import { storePause } from '../../timeouts.ts';
import type { PoolLimits, PostgresTarget } from './target.ts';
import { type TakenConnection, makePool } from './pool.ts';
import { isAnswer } from './statement.ts';

/** A backend, and what it ran for a connection: behind a pooler, it may run something else by now. */
export type Backend = { readonly pid: number } & (
  | { readonly transaction: string; readonly statement?: undefined }
  | { readonly transaction?: undefined; readonly statement: string }
);

/** Its own, to be free when all others wait; and with a short timeout, because held connections wait for it. */
const askingConnections: PoolLimits = { max: 1, timeout: 2_000 };

/**
 * Connections whose statement was given up, while the database may still run it.
 *
 * Closing a connection ends no statement: a backend that waits for a lock, or for a synchronous standby, doesn't
 * notice. Each would be replaced by another that waits, until the server has no connection left. So the backend is
 * terminated first. One that waits for a standby has committed, and if ended would show others what the standby lacks:
 * it is left alone, and its connection counts as taken until the wait is over. The store never has more backends than
 * connections.
 */
export class Unanswered {
  readonly #target: PostgresTarget;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #ownPool: Pool | undefined;

  /** `signal`: aborted when connections need not be held any longer. */
  constructor(target: PostgresTarget, clock: Clock, signal: AbortSignal) {
    this.#target = target;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Gives back a connection that failed. `backend` may still run, unless the error is the database's answer. */
  giveBack(connection: TakenConnection, error: Error, backend: Backend | undefined): void {
    const discard = (): void => connection.discard(error);
    if (isAnswer(error) || connection.lostBy || !backend) return discard();
    const { pool } = this.#target;
    if (!pool) {
      // If the database can't be asked, it can't be connected to either.
      this.#ended(backend).then(discard, discard);
      return;
    }
    // First, because the user's pool may have no other connection to end the statement with.
    discard();
    end(pool, backend).catch(() => {});
  }

  /** Each session of the store calls this, but a pool can be ended only once. */
  async close(): Promise<void> {
    const pool = this.#ownPool;
    this.#ownPool = undefined;
    await pool?.end();
  }

  /** Resolves when the backend no longer runs what it ran. */
  async #ended(backend: Backend): Promise<void> {
    this.#ownPool ??= makePool(this.#target.connectionString, askingConnections);
    while (!this.#signal.aborted && (await end(this.#ownPool, backend)))
      await pause(this.#clock, storePause, this.#signal);
  }
}

/**
 * Terminates the backend if it still runs the same. Resolves to true if it waits for a standby: then it is left alone.
 */
async function end(pool: Pool, { pid, transaction, statement }: Backend): Promise<boolean> {
  const { timeout } = askingConnections;
  const asked = { text: endStatement, values: [pid, transaction, statement], query_timeout: timeout };
  const { rows } = await pool.query<{ waits: boolean }>(asked);
  return rows[0]?.waits ?? false;
}

/**
 * A transaction is ended in any state: one that is idle holds its locks until its connection is found to be lost, which
 * may take hours. `starts_with`, because the database shows only the beginning of a long statement.
 */
const endStatement = `
  select wait_event is not distinct from 'SyncRep' as waits,
         case when wait_event is distinct from 'SyncRep' then pg_terminate_backend(pid) end
    from pg_stat_activity
   where pid = $1 and (backend_xid = $2::text::xid8::xid or (state = 'active' and starts_with($3, query)))`;
