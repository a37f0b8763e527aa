/**
 * Floods a receiver with large deliveries while its database answers nothing, and prints what becomes of them and of
 * its memory. `slow-database.test.ts` starts it: nothing else uses this process's memory.
 */
import { postgres } from '../../src/store/postgres/index.ts';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, secret } from '../support/deliveries.ts';
import { collectGarbage } from '../support/old-space.ts';
import { createReceiver } from '../support/public.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const [, , direct = '', schema = ''] = process.argv;
/** Each wave is less than the receiver takes at once. In all, they are far more than it may keep. */
const [waves, atOnce] = [10, 8];
const said = 'x'.repeat(2 * 1024 * 1024);

const { proxy, connectionString } = await TcpProxy.inFrontOf(direct);
const clock = new ManualClock();
const database = postgres({ connectionString, schema });
const receiver = createReceiver({ secrets: secret, database, clock, logger: { level: 'silent' } });
receiver.on('*', { name: 'committing' }, ({ traceId }, { commit }) =>
  commit((tx) => tx.query(`insert into ${schema}.effects values ($1)`, [traceId])),
);
await receiver.start();
await receiver.database.transaction((tx) => tx.query(`create table ${schema}.effects (trace_id text)`));

const acknowledged: string[] = [];
const answers = new Set<string>();
let sent = 0;

async function deliverOne(transcript: string): Promise<number> {
  sent += 1;
  const traceId = `trace-${sent}`;
  const body = bodyOf({ traceId, payload: { transcript: '' } }).replace('""', `"${transcript}"`);
  const { status, headers } = await deliver(receiver, body);
  if (status === 200) acknowledged.push(traceId);
  answers.add(`${status}, retry-after: ${headers.get('retry-after')}`);
  return status;
}

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Delivers so many at once, and lets time pass until all are answered. */
async function wave(): Promise<void> {
  const over = new AbortController();
  void Promise.all(Array.from({ length: atOnce }, () => deliverOne(said))).finally(() => over.abort());
  for (; !over.signal.aborted; await turn()) clock.advance(10);
}

/** Delivers small ones until one is taken: large ones would take the time that the database needs for the flood. */
async function untilTaken(): Promise<void> {
  while ((await deliverOne('')) !== 200) await turn();
}

await untilTaken();
answers.clear();
const [bytesBefore, statementsBefore] = [usedBytes(), proxy.statements];
const begunAt = performance.now();
const release = proxy.holdAnswers();
let bytes = 0;
for (let count = 0; count < waves; count += 1) {
  await wave();
  bytes = Math.max(bytes, usedBytes() - bytesBefore);
}
const during = {
  answers: [...answers],
  bytes,
  statements: proxy.statements - statementsBefore,
  seconds: (performance.now() - begunAt) / 1_000,
};
release();
await untilTaken();
process.stdout.write(`${JSON.stringify({ ...during, acknowledged })}\n`);
await receiver.stop({ drain: 0 });
proxy.close();
