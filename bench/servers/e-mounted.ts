/**
 * (e) Ringback mounted in Express, with every check on. Arguments after the database file: `--watch` measures how long
 * after the answer an event's handler begins, and `--no-handlers` leaves the events to a later process.
 */
import { createServer } from 'node:http';
import express from 'express';
import { databaseFile, layout, secret, serve } from './common.ts';
import { LagWatch } from './lag.ts';

// The built package, as users have it: stripping types from the sources would take additional time and memory.
const built = new URL('../../dist/index.js', import.meta.url).href;
const { createReceiver } = (await import(built)) as typeof import('../../src/index.ts');

const watch = process.argv.includes('--watch') ? new LagWatch() : undefined;
const startedAt = performance.now();
const receiver = createReceiver({
  secrets: secret,
  signature: layout,
  database: databaseFile(),
  // The load comes over plain HTTP on loopback; all else is as in production.
  https: { required: false },
  logger: { level: 'warn' },
});
let handled = 0;
const handle = (event: { traceId: string }) => {
  handled += 1;
  watch?.begun(event.traceId);
};
if (!process.argv.includes('--no-handlers')) receiver.on('*', { name: 'handler' }, handle);
await receiver.start();

const app = express();
if (watch) app.use(watch.middleware);
app.use('/hook', receiver.middleware());
serve(createServer(app), {
  openedIn: () => performance.now() - startedAt,
  stop: () => receiver.stop(),
  begin: () => {
    handled = 0;
    watch?.reset();
  },
  handled: () => handled,
  ...(watch && { lag: () => watch.lag() }),
});
