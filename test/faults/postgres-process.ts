/**
 * A receiver on Postgres in a process of its own, for tests to kill. Its one argument is a JSON object with the database. It
 * prints where it listens. Two handlers write a row for each event: one of them in the order of the call.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createReceiver } from '../../src/index.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { secret } from '../support/deliveries.ts';

const { connectionString, schema } = JSON.parse(process.argv[2] ?? '') as {
  readonly connectionString: string;
  readonly schema: string;
};
const database = new PostgresStore({ connectionString, pool: undefined, schema }, systemClock);
const receiver = createReceiver({ secrets: secret, database, https: { required: false } });
for (const [name, order] of [
  ['effects', 'call'],
  ['ordered', 'strict'],
] as const) {
  receiver.on('*', { name, order, retry: { base: '50ms', cap: '1s', attempts: 100 } }, (event, context) =>
    context.commit(async (tx) => {
      const row = [name, event.callId, event.traceId];
      await tx.query(`insert into "${schema}".effects (handler, call_id, trace_id) values ($1, $2, $3)`, row);
    }),
  );
}
await receiver.start();
const server = createServer(receiver.nodeHandler());
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
