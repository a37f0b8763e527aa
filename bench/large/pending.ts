import { setTimeout as wait } from 'node:timers/promises';
import { Load, serverFile } from '../processes.ts';
import { progress } from '../report.ts';
import { Rows } from '../rows.ts';
import type { Part } from './part.ts';

const mounted = serverFile('e-mounted.ts');
/** How long to wait, in milliseconds: far beyond the target, so that a miss still gives a figure. */
const timeout = 300_000;
const pause = 50;

/** Measures how long a server whose handler does nothing takes for events that one without handlers has stored. */
export async function measurePending(database: string, count: number): Promise<Part> {
  const pending = await storeWithoutHandlers(database, count);
  const startedAt = performance.now();
  const server = await mounted(database);
  const rows = new Rows(database);
  try {
    while (rows.open() > 0 && performance.now() - startedAt < timeout) await wait(pause);
    const seconds = rows.open() > 0 ? Infinity : (performance.now() - startedAt) / 1_000;
    const handled = (await server.handled()) ?? 0;
    const problem = handled < pending ? `${handled} handled` : undefined;
    progress(`${pending} pending runs were done after ${seconds.toFixed(1)} s`);
    const name = `start with ${pending} pending runs until all are done, with a handler that does nothing`;
    return {
      targets: [{ name, bound: 'at most', value: 10, unit: 's', reached: seconds, problem }],
      lines: [],
    };
  } finally {
    rows.close();
    await server.end();
  }
}

async function storeWithoutHandlers(database: string, count: number): Promise<number> {
  const server = await mounted(database, { arguments: ['--no-handlers'] });
  const load = new Load();
  const order = { port: server.port, connections: 32, body: '0.4 KB', pace: 0 } as const;
  await load.run({ ...order, seconds: 3_600, max: count });
  await Promise.all([load.end(), server.end()]);
  const rows = new Rows(database);
  try {
    return rows.open();
  } finally {
    rows.close();
  }
}
