/** (e) Ringback mounted in Express, with every check on. */
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express from 'express';
import { createReceiver } from '../../src/index.ts';
import { layout, secret, serve } from './common.ts';

const receiver = createReceiver({
  secrets: secret,
  signature: layout,
  database: join(mkdtempSync(join(tmpdir(), 'ringback-bench-')), 'inbox.db'),
  // The load comes over plain HTTP on loopback; all else is as in production.
  https: { required: false },
  logger: { level: 'warn' },
});
receiver.on('*', { name: 'handler' }, () => {});
await receiver.start();

const app = express();
app.use('/hook', receiver.middleware());
serve(createServer(app), async () => {
  const { events } = await receiver.counts();
  return { stored: events.new + events.open + events.done, done: events.done };
});
