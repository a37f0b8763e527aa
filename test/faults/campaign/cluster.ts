import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { type PostgresServer, startPostgres, startStandby } from '../../support/postgres-server.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';

const settings = {
  max_connections: 100,
  // A commit is answered when a standby has it.
  synchronous_standby_names: '*',
  // What a standby that is being made has to catch up with.
  wal_keep_size: '512MB',
  // By default, a standby that has lost its primary looks for it again after five seconds.
  wal_retrieve_retry_interval: '200ms',
  max_wal_size: '256MB',
};

/** A primary with a synchronous standby, behind a proxy that stays where it is. */
export class Cluster {
  readonly proxy: TcpProxy;
  #primary: PostgresServer;
  #standby: PostgresServer;

  private constructor(proxy: TcpProxy, primary: PostgresServer, standby: PostgresServer) {
    this.proxy = proxy;
    this.#primary = primary;
    this.#standby = standby;
  }

  static async start(): Promise<Cluster> {
    const proxy = await TcpProxy.start();
    const primary = await startPostgres({ settings });
    const cluster = new Cluster(proxy, primary, await startStandby(primary, { settings }));
    proxy.target = primary.port;
    return cluster;
  }

  /** Where receivers find the database, whichever of the two is the primary. */
  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.proxy.port}/postgres`;
  }

  /** Over a connection of its own that is not disturbed. */
  async query<Row extends object>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    const client = new Client({ connectionString: this.#primary.url });
    // One that is lost meanwhile is reported to whoever waits for its answer.
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query<Row>(sql, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  async crash(): Promise<void> {
    await this.#primary.stop('immediate');
    await this.#primary.start();
    await this.#caughtUp();
  }

  /** The main process ends all others and starts them again when one of them is killed. */
  async crashBackend(): Promise<void> {
    const backends = await this.query<{ pid: number }>(
      "select pid from pg_stat_activity where application_name = 'ringback'",
    );
    backends.some(({ pid }) => isKilled(pid));
    await this.#caughtUp();
  }

  async terminateBackends(count: number): Promise<void> {
    await this.query(
      `select pg_terminate_backend(pid) from (
         select pid from pg_stat_activity where application_name = 'ringback' order by random() limit $1) chosen`,
      [count],
    );
  }

  /** The standby becomes the primary, and a new standby follows it. Until that does, nothing is committed. */
  async failOver(): Promise<void> {
    const old = this.#primary;
    await old.stop('immediate');
    await this.#standby.promote();
    this.#primary = this.#standby;
    this.proxy.target = this.#primary.port;
    await old.close();
    this.#standby = await startStandby(this.#primary, { settings });
    await this.#caughtUp();
  }

  async close(): Promise<void> {
    this.proxy.close();
    await this.#primary.close();
    await this.#standby.close();
  }

  /**
   * A primary that restarts shows what it had written, also what no standby has yet. A failover at that moment would lose what
   * has been answered since: no managed Postgres does that.
   */
  async #caughtUp(): Promise<void> {
    let until: string | undefined;
    for (;;) {
      try {
        const [row] = await this.query<{ now: string; isThere: boolean }>(
          `select pg_current_wal_lsn()::text as now, exists (
             select from pg_stat_replication where sync_state = 'sync' and flush_lsn >= $1::pg_lsn) as "isThere"`,
          [until ?? 'FFFFFFFF/FFFFFFFF'],
        );
        if (row?.isThere === true) return;
        until ??= row?.now;
      } catch {
        // It doesn't take connections yet.
      }
      await pause(50);
    }
  }
}

/** Whether there was such a process: a connection may have been closed since it was looked up. */
function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}
