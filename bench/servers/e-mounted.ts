/**
 * (e) Ringback mounted in Express, with every check on. Arguments after the database file: `--watch` measures how long
 * after the answer an event's handler begins, `--handlers 3` registers three, `--no-handlers` leaves the events to a
 * later process, and `--turns` measures the longest turn of the event loop. See `instruments.ts` for those of
 * operators.
 */
import { createServer } from 'node:http';
import express from 'express';
import { databaseFile, scheme, secret, serve } from './common.ts';
import { addInstruments } from './instruments.ts';
import { LagWatch } from './lag.ts';
import { TurnWatch } from './turns.ts';

// The built package, as users have it: stripping types from the sources would take additional time and memory.
const built = new URL('../../dist/index.js', import.meta.url).href;
const { createReceiver } = (await import(built)) as typeof import('../../src/index.ts');

const watch = process.argv.includes('--watch') ? new LagWatch() : undefined;
const turns = process.argv.includes('--turns') ? new TurnWatch() : undefined;
const startedAt = performance.now();
const receiver = createReceiver({
  secrets: secret,
  signature: scheme,
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
const asked = process.argv.indexOf('--handlers');
const count = asked < 0 ? 1 : Number(process.argv[asked + 1]);
if (!process.argv.includes('--no-handlers')) {
  for (let index = 0; index < count; index += 1) receiver.on('*', { name: `handler-${index}` }, handle);
}
const app = express();
await addInstruments(receiver, app);
await receiver.start();

if (watch) app.use(watch.middleware);
app.use('/hook', receiver.middleware());
serve(createServer(app), {
  openedIn: () => performance.now() - startedAt,
  stop: () => receiver.stop(),
  begin: () => {
    handled = 0;
    watch?.reset();
    turns?.reset();
  },
  handled: () => handled,
  ...(watch && { lag: () => watch.lag() }),
  ...(turns && { turn: () => turns.longest }),
});
