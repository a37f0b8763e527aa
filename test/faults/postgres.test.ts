import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { concurrently } from '../support/concurrently.ts';
import { bodyOf, post } from '../support/deliveries.ts';
import { ownPostgres } from '../support/postgres.ts';
import { Script } from '../support/process.ts';

const receiverProcess = fileURLToPath(new URL('./postgres-process.ts', import.meta.url));
const schema = 'ringback';
const processes = 3;
const calls = 24;
/** How many events of each call come with each fault. */
const eventsOfCall = 3;
const faults = 6;

test('three processes on Postgres, killed at random, and the database with them: nothing lost or done twice', async () => {
  const server = await ownPostgres();
  const argument = JSON.stringify({ connectionString: server.url, schema });
  await prepared(server.url);
  const ports: (number | undefined)[] = [];
  const scripts: Script[] = [];
  const start = async (place: number): Promise<void> => {
    const script = new Script(receiverProcess, argument);
    scripts[place] = script;
    ports[place] = Number((await script.line('port'))['port']);
  };
  await Promise.all(Array.from({ length: processes }, (_, place) => start(place)));

  const acknowledged: string[] = [];
  /** Each call's next events, one after the other, while those of the other calls come as well. */
  const load = async (round: number): Promise<void> => {
    await concurrently(
      Array.from({ length: calls }, (_, call) => call),
      calls,
      async (call) => {
        for (let place = round * eventsOfCall; place < (round + 1) * eventsOfCall; place += 1) {
          await delivered(() => ports[randomInt(processes)], `${call}-${place}`, `call-${call}`);
          acknowledged.push(`${call}-${place}`);
        }
      },
    );
  };
  const killOne = async (): Promise<void> => {
    const place = randomInt(processes);
    ports[place] = undefined;
    await scripts[place]?.kill();
    await start(place);
  };
  const killDatabase = async (): Promise<void> => {
    await server.stop('immediate');
    await server.start();
  };
  for (let fault = 0; fault < faults; fault += 1)
    await Promise.all([load(fault), fault % 3 === 2 ? killDatabase() : killOne()]);

  const client = await connected(server.url);
  const handled = async () => {
    const { rows } = await client.query<{ count: string }>(`select count(*) from "${schema}".effects`);
    return Number(rows[0]?.count);
  };
  await expect.poll(handled).toBeGreaterThanOrEqual(2 * acknowledged.length);
  const { rows } = await client.query<{ handler: string; call_id: string; trace_id: string }>(
    `select handler, call_id, trace_id from "${schema}".effects order by place`,
  );
  for (const handler of ['effects', 'ordered']) {
    const traceIds = rows.filter((row) => row.handler === handler).map((row) => row.trace_id);
    expect(traceIds.toSorted()).toEqual(acknowledged.toSorted());
  }
  for (let call = 0; call < calls; call += 1) {
    const inOrder = rows.filter((row) => row.handler === 'ordered' && row.call_id === `call-${call}`);
    expect(inOrder.map((row) => row.trace_id)).toEqual(
      Array.from({ length: inOrder.length }, (_, place) => `${call}-${place}`),
    );
  }
});

/** Delivers an event until it is acknowledged, each time to another process. */
async function delivered(port: () => number | undefined, traceId: string, callId: string): Promise<void> {
  for (;;) {
    const answer = await post(`http://127.0.0.1:${port()}/`, bodyOf({ traceId, callId })).catch(
      () => undefined,
    );
    if (answer?.status === 200) return;
    if (answer && answer.status !== 503) throw new Error(`A delivery was answered ${answer.status}.`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A table for the effects. Its schema is the inbox's, which the first process makes. */
async function prepared(url: string): Promise<void> {
  const client = await connected(url);
  await client.query(`create schema "${schema}"`);
  await client.query(
    `create table "${schema}".effects (place bigserial, handler text, call_id text, trace_id text)`,
  );
}

async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}
