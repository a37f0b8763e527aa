/**
 * (g) Ringback mounted in Express, with its inbox in Postgres and every check on. `--kept` after the database keeps
 * events for 20 s and trace ids for 40 s.
 */
import { createServer } from 'node:http';
import express from 'express';
import { databaseFile, scheme, secret, serve } from './common.ts';
import { addInstruments } from './instruments.ts';

// The built package, as users have it: stripping types from the sources would take additional time and memory.
const built = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href;
const { createReceiver } = (await import(built('index.js'))) as typeof import('../../src/index.ts');
const { systemClock } = (await import(built('kit/clock.js'))) as typeof import('../../src/kit/clock.ts');
const { PostgresStore } = (await import(
  built('store/postgres/postgres-store.js')
)) as typeof import('../../src/store/postgres/postgres-store.ts');

const place = { connectionString: databaseFile(), pool: undefined, schema: 'ringback' };
const receiver = createReceiver({
  secrets: secret,
  signature: scheme,
  database: new PostgresStore(place, systemClock),
  // The load comes over plain HTTP on loopback; all else is as in production.
  https: { required: false },
  logger: { level: 'warn' },
  ...(process.argv.includes('--kept') && { retention: { done: '20s', traceIds: '40s' } }),
});
let handled = 0;
receiver.on('*', { name: 'handler' }, () => {
  handled += 1;
});
const app = express();
await addInstruments(receiver, app);
await receiver.start();

app.use('/hook', receiver.middleware());
serve(createServer(app), {
  stop: () => receiver.stop(),
  begin: () => {
    handled = 0;
  },
  handled: () => handled,
});
