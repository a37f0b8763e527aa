/**
 * Receives as many deliveries as its argument says, one by one, through Express and a SQLite file, and ends. `house.ts`
 * runs it twice under V8's coverage: what the second run calls more often is the way of a delivery.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { createReceiver } from '../../src/index.ts';
import { buildDelivery } from '../../src/testing/index.ts';

const secret = 'whsec_aG91c2U=';
const count = Number(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), 'house-'));

const receiver = createReceiver({
  secrets: secret,
  database: join(folder, 'ringback.db'),
  https: { required: false },
  logger: { level: 'silent' },
});
let isHandled = Promise.withResolvers<void>();
receiver.on('CallHandler.CallEnded', async () => isHandled.resolve());
await receiver.start();
const server = express().use('/calls', receiver.middleware()).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/calls`;

// Every run makes all of them, so that signing isn't counted.
const deliveries = Array.from({ length: 11 }, (_, number) =>
  buildDelivery('call-ended', { traceId: `trace-${number}`, callId: `call-${number}`, secret }),
);
for (const { body, headers } of deliveries.slice(0, count)) {
  isHandled = Promise.withResolvers<void>();
  const { status } = await fetch(url, { method: 'POST', body, headers });
  if (status !== 200) throw new Error(`answered ${status}`);
  await isHandled.promise;
}

server.close();
server.closeAllConnections();
await receiver.stop();
rmSync(folder, { recursive: true });
