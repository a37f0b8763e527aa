/** A database that is there, but answers slowly or not at all, fills neither the memory nor itself. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { postgres } from '../../src/store/postgres/index.ts';
import { intakeConnections } from '../../src/store/postgres/connection/target.ts';
import { recordTimeout } from '../../src/store/timeouts.ts';
import { ManualClock } from '../support/clock.ts';
import { deliver, secret } from '../support/deliveries.ts';
import { Logs } from '../support/logs.ts';
import { behindProxy, testDatabase, withClient } from '../support/postgres.ts';
import { createReceiver } from '../support/public.ts';

const script = fileURLToPath(new URL('./slow-database-process.ts', import.meta.url));

/** What `slow-database-process.ts` prints. */
interface Flooded {
  /** Each status and `retry-after` that was answered. */
  readonly answers: readonly string[];
  /** How much memory was used at most, besides what was used before. */
  readonly bytes: number;
  /** How many statements were sent meanwhile. */
  readonly statements: number;
  /** How long the flood lasted. */
  readonly seconds: number;
  readonly acknowledged: readonly string[];
}

test(
  'a flood while the database answers nothing: 503, bounded memory, few statements, and all goes on by itself',
  { tags: 'long' },
  async () => {
    const { connectionString, schema } = await testDatabase();
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--expose-gc',
      script,
      connectionString,
      schema,
    ]);
    const { answers, bytes, statements, seconds, acknowledged } = JSON.parse(stdout) as Flooded;
    expect(answers).toEqual(['503, retry-after: 2']);
    // The queue takes 48 MB of bodies, each of which is in memory as its bytes and in its event. What is in flight is
    // there in statements, too, and a wave of deliveries is about to be refused. The flood has 160 MB, each byte twice.
    expect(bytes).toBeLessThan(4 * 48 * 1024 * 1024);
    // Two groups, a heartbeat, and each once more on another connection, some of them every five seconds.
    expect(statements).toBeLessThan(20 + 4 * Math.ceil(seconds / 5));
    const database = postgres({ connectionString, schema });
    const receiver = createReceiver({ secrets: secret, database, logger: new Logs().logger });
    onTestFinished(() => receiver.stop({ drain: 0 }));
    receiver.on('*', { name: 'committing' }, ({ traceId }, { commit }) =>
      commit((tx) => tx.query(`insert into ${schema}.effects values ($1)`, [traceId])),
    );
    await receiver.start();
    await expect.poll(async () => (await receiver.counts()).events).toMatchObject({ new: 0, open: 0 });
    await withClient(connectionString, async (client) => {
      const { rows } = await client.query<{ trace_id: string }>(`select trace_id from ${schema}.effects`);
      const handled = rows.map((row) => row.trace_id);
      expect(handled).toEqual(expect.arrayContaining([...acknowledged]));
      expect(new Set(handled).size).toBe(handled.length);
    });
  },
);

/** A receiver whose database answers through a proxy, and whose clock stands still. */
async function startedBehindProxy() {
  const { connectionString: direct, schema } = await testDatabase();
  const { proxy, connectionString } = await behindProxy(direct);
  const [clock, logs] = [new ManualClock(), new Logs()];
  const database = postgres({ connectionString, schema });
  const receiver = createReceiver({ secrets: secret, database, clock, logger: logs.logger });
  onTestFinished(() => receiver.stop({ drain: 0 }));
  await receiver.start();
  return { receiver, proxy, clock, logs };
}

test('unreadable deliveries whose senders were answered do not wait for a slow database', async () => {
  const { receiver, proxy, clock } = await startedBehindProxy();
  expect((await deliver(receiver, 'no JSON')).json.status).toBe('quarantined');
  const release = proxy.holdAnswers();
  const count = 10;
  const answers = Promise.all(
    Array.from({ length: count }, (_, index) => deliver(receiver, `no JSON: ${index}`)),
  );
  await clock.timer(recordTimeout, count);
  clock.advance(recordTimeout);
  expect(new Set((await answers).map(({ status }) => status))).toEqual(new Set([503]));
  release();
  await expect.poll(async () => (await deliver(receiver, 'no JSON either')).json.status).toBe('quarantined');
  const { deliveries } = await receiver.quarantine.list();
  expect(deliveries.length).toBeLessThanOrEqual(2 + intakeConnections.max);
});

test('unreadable deliveries that would fill the memory get 503 at once', { tags: 'long' }, async () => {
  const { receiver, proxy, logs } = await startedBehindProxy();
  const release = proxy.holdAnswers();
  const body = 'x'.repeat(4 * 1024 * 1024);
  const answers = Array.from({ length: 14 }, () => deliver(receiver, body));
  // The clock stands still, so none has waited for too long.
  const refused = () => logs.of('delivery_failed').filter(({ cause }) => String(cause).includes('too many'));
  await expect.poll(refused).toHaveLength(2);
  release();
  const statuses = (await Promise.all(answers)).map(({ status }) => status);
  expect(statuses).toContain(503);
  expect(statuses).toContain(200);
});
