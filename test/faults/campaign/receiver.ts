/**
 * A receiver on Postgres in a process of its own. Its argument says where the database is; it prints where it listens. What it
 * is sent over IPC is how far its clock is from the machine's from then on. It ends with the process that started it.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool, type PoolClient } from 'pg';
import { type CallEvent, createReceiver, type RunContext } from '../../../src/index.ts';
import { type Clock, pause, systemClock } from '../../../src/kit/clock.ts';
import { postgres } from '../../../src/store/postgres/index.ts';
import { seededRandom } from '../../../src/sandbox/calls/seeded-random.ts';
import { effects, eventNames, handlers, joinWithin, type ReceiverArgument, schema } from './terms.ts';

const { connectionString, secret, clockOffset } = JSON.parse(process.argv[2] ?? '') as ReceiverArgument;
let offset = clockOffset;
process.on('message', (next: number) => (offset = next));
process.on('disconnect', () => process.exit(1));
const clock: Clock = { ...systemClock, now: () => systemClock.now() + offset };

const pool = new Pool({ connectionString, max: 4, connectionTimeoutMillis: 5_000, query_timeout: 10_000 });
pool.on('error', () => {});

/** What an attempt does besides its rows: some fail at first, and some take long, in a transaction or not. */
async function troubled(key: string, context: RunContext<PoolClient>): Promise<void> {
  const random = seededRandom(key, context.attempt);
  if (random() < 0.1) throw new Error('this attempt fails');
  await pause(clock, random() < 0.1 ? 300 : random() * 20);
}

const insert = `insert into ${effects} (handler, call_id, trace_id) values ($1, $2, $3)`;
const retry = { base: '50ms', cap: '1s', attempts: 10_000 } as const;
const receiver = createReceiver({
  secrets: secret,
  database: postgres({ connectionString, schema }),
  https: { required: false },
  clock,
  logger: { level: 'info' },
});

for (const { name, isJoin, isOnce, order } of handlers) {
  if (isJoin) continue;
  receiver.on('*', { name, order, retry }, async ({ callId, traceId }: CallEvent, context) => {
    const row = [name, callId, traceId];
    const key = `${name} ${traceId}`;
    if (isOnce) {
      await context.commit(async (tx) => {
        await tx.query(insert, row);
        await troubled(key, context);
      });
    } else {
      await troubled(key, context);
      await pool.query(insert, row);
    }
  });
}
for (const { name } of handlers.filter(({ isJoin }) => isJoin)) {
  const join = {
    name,
    events: [eventNames[1], eventNames[2]],
    within: joinWithin,
    late: 'ignore',
    retry,
  } as const;
  receiver.onCall(join, async ({ callId }, context) => {
    await context.commit(async (tx) => {
      await tx.query(insert, [name, callId, '']);
      await troubled(`${name} ${callId}`, context);
    });
  });
}

await receiver.start();
const server = createServer(receiver.nodeHandler());
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
