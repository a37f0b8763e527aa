import { Client } from 'pg';
import { expect } from 'vitest';

/** Changes nothing, but writes WAL that a standby has to flush. */
const smallestCommit = "select pg_logical_emit_message(true, 'test', '')";

/**
 * Makes each commit of a server wait for a standby that isn't there. Resolves once a commit waits, because the server
 * applies the setting some time after the reload. Call the result to go on without a standby.
 */
export async function losesStandby(connectionString: string): Promise<() => Promise<void>> {
  const [watcher, committer] = [new Client({ connectionString }), new Client({ connectionString })];
  await Promise.all([watcher.connect(), committer.connect()]);
  const waitFor = async (standby: string) => {
    await watcher.query(`alter system set synchronous_standby_names = '${standby}'`);
    await watcher.query('select pg_reload_conf()');
  };
  await waitFor('gone');
  const over = new AbortController();
  const commits = (async () => {
    while (!over.signal.aborted) await committer.query(smallestCommit);
  })();
  await expect.poll(async () => waitingForStandby(watcher)).not.toBe(0);
  return async () => {
    over.abort();
    await waitFor('');
    await commits;
    await Promise.all([watcher.end(), committer.end()]);
  };
}

/** How many commits wait for a standby. `like`: counts only statements that contain this. */
export async function waitingForStandby(client: Client, like = ''): Promise<number> {
  const { rows } = await client.query<{ waiting: number }>(
    "select count(*)::int as waiting from pg_stat_activity where wait_event = 'SyncRep' and query like $1",
    [`%${like}%`],
  );
  return rows[0]?.waiting ?? 0;
}
