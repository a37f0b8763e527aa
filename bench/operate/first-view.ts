/**
 * How long each view of the page takes to appear in a new browser, with millions of events in the inbox.
 */
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { browserPath, launch } from '../../scripts/browser.ts';
import { postgresBackend, events as counts } from '../peers/postgres.ts';
import { type Running, inFolder, serverFile } from '../processes.ts';
import { measuredOn, median, progress, publish, table } from '../report.ts';
import { targetTable } from '../targets.ts';
import { fillPostgres, fillSqlite } from './many-events.ts';

const standardEvents = 10_000_000;
const rounds = 5;

const views = {
  overview: '/',
  events: '/events',
  'dead letters': '/events?state=dead',
  calls: '/calls',
  failures: '/failures',
  handlers: '/handlers',
  audit: '/audit',
} as const;

type View = keyof typeof views;
type Times = Record<View, readonly number[]>;

/** Only a run of the standard size writes a file. */
export async function measureViews(asked: string | undefined): Promise<void> {
  const events = asked === undefined ? standardEvents : Number(asked);
  if (!Number.isInteger(events) || events < 10_000) throw new Error('--events takes a number from 10000');
  const machine = measuredOn();
  const browser = await launch(await browserPath());
  const [sqlite, postgres] = [await onSqlite(browser, events), await onPostgres(browser, events)];
  await browser.close();
  const target = (store: string, times: Times) => ({
    name: `first view with ${events} events, ${store}`,
    bound: 'at most' as const,
    value: 1_000,
    unit: 'ms',
    reached: median(times.overview),
    problem: undefined,
  });
  const row = (view: View) => [view, ...[sqlite, postgres].map((times) => median(times[view]).toFixed(0))];
  publish(
    [
      '# How long a view takes',
      '',
      `${machine} Medians of ${rounds}, from the address to the view with its data, in a new browser context.`,
      '',
      ...targetTable([target('SQLite', sqlite), target('Postgres', postgres)]),
      ...table(['view', 'SQLite, ms', 'Postgres, ms'], (Object.keys(views) as View[]).map(row)),
    ],
    events === standardEvents ? 'results-views.md' : undefined,
  );
}

function onSqlite(browser: Browser, events: number): Promise<Times> {
  return inFolder(async (folder) => {
    const start = serverFile('e-mounted.ts');
    const file = join(folder, 'inbox.db');
    await (await start(file)).end();
    await fillSqlite(file, events);
    return look(browser, await start(file, { arguments: ['--operated'] }));
  });
}

async function onPostgres(browser: Browser, events: number): Promise<Times> {
  const start = serverFile('g-postgres.ts');
  const backend = await postgresBackend(counts);
  try {
    await (await start(backend.address)).end();
    await fillPostgres(backend.address, events, true);
    return await look(browser, await start(backend.address, { arguments: ['--operated'] }));
  } finally {
    await backend.close();
  }
}

async function look(browser: Browser, server: Running): Promise<Times> {
  const times: Record<View, number[]> = {
    overview: [],
    events: [],
    'dead letters': [],
    calls: [],
    failures: [],
    handlers: [],
    audit: [],
  };
  try {
    for (let round = 0; round < rounds; round += 1)
      for (const view of Object.keys(views) as View[]) {
        const context = await browser.newContext();
        const page = await context.newPage();
        const begunAt = performance.now();
        await page.goto(`http://127.0.0.1:${server.port}/ringback/#${views[view]}`);
        await page.locator('main h1:not(.loading)').waitFor();
        await page.locator('main .loading').first().waitFor({ state: 'detached' });
        times[view].push(performance.now() - begunAt);
        await context.close();
        progress(`${view}: ${Math.round(times[view].at(-1) ?? 0)} ms`);
      }
    return times;
  } finally {
    await server.end();
  }
}
