/**
 * Makes `docs/images/*.png`: each view of the operators' page, over an hour of made-up calls.
 *
 *   npm run screenshots            writes the pictures of the docs
 *   npm run screenshots -- FOLDER  writes more pictures into a folder, also narrow and dark ones, for review
 */
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { browserPath, launch } from './browser.ts';
import { buildPageIfNeeded } from './page.ts';
import { playTraffic } from './screenshots/traffic.ts';

interface Picture {
  readonly name: string;
  readonly place: string;
  /** The button to click before the picture is taken, and what is shown then. */
  readonly click?: { readonly button: string; readonly shows: RegExp };
  /** Whether the picture is of the whole page, not only of what is seen first. */
  readonly isWhole?: boolean;
}

const wouldRun = /would (be )?run/;
const transcript = { button: 'Show transcript', shows: /said before it/ };
const pictures: readonly Picture[] = [
  { name: 'overview', place: '/', isWhole: true },
  { name: 'events', place: '/events?state=dead' },
  { name: 'event', place: '/events/trace-callended-1016', isWhole: true },
  { name: 'calls', place: '/calls' },
  { name: 'call', place: '/calls/call_2017', click: transcript, isWhole: true },
  { name: 'failures', place: '/failures' },
  { name: 'replay-dialog', place: '/failures', click: { button: 'Replay…', shows: wouldRun } },
  {
    name: 'replay',
    place: '/replay?state=dead&handler=crm-sync&rate=10',
    click: { button: 'Show what would run', shows: wouldRun },
  },
  { name: 'quarantine', place: '/quarantine' },
  { name: 'delivery', place: '/quarantine/1' },
  { name: 'handlers', place: '/handlers' },
  { name: 'drift', place: '/drift' },
  { name: 'audit', place: '/audit' },
];

const wide = { viewport: { width: 1180, height: 720 }, colorScheme: 'light' } as const;
/** The looks of the page, by the suffix of the pictures' names. */
const looks = {
  '': wide,
  '-dark': { ...wide, colorScheme: 'dark' },
  '-narrow': { viewport: { width: 360, height: 780 }, colorScheme: 'light' },
} as const;

const asked = process.argv[2];
const folder = asked ?? fileURLToPath(new URL('../docs/images', import.meta.url));
mkdirSync(folder, { recursive: true });
await buildPageIfNeeded();
const { receiver, now } = await playTraffic();
const page = receiver.page({ authorize: () => ({ access: 'all', by: 'ann' }) });
const server = createServer(page.nodeHandler('/ringback')).listen(0, '127.0.0.1');
await once(server, 'listening');
const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ringback`;
const browser = await launch(await browserPath());
for (const look of asked === undefined ? ([''] as const) : (['', '-dark', '-narrow'] as const))
  await takeAll(browser, look);
await browser.close();
server.close();
server.closeAllConnections();
process.exit();

async function takeAll(from: Browser, look: keyof typeof looks): Promise<void> {
  const context = await from.newContext({ ...looks[look], locale: 'en-GB', timezoneId: 'Europe/Berlin' });
  const shown = await context.newPage();
  await shown.clock.setFixedTime(now);
  await nameMachine(shown);
  for (const picture of pictures) await take(shown, picture, look);
  await context.close();
}

/** Shows another machine than the one on which the pictures are taken. */
async function nameMachine(shown: Page): Promise<void> {
  await shown.route('**/api/handlers', async (route) => {
    const response = await route.fetch();
    const { processes, ...others } = (await response.json()) as { readonly processes: readonly object[] };
    const renamed = processes.map((process) => ({ ...process, host: 'calls-1', pid: 4_711 }));
    await route.fulfill({ response, json: { ...others, processes: renamed } });
  });
}

async function take(
  shown: Page,
  { name, place, click, isWhole = false }: Picture,
  look: string,
): Promise<void> {
  await shown.goto('about:blank');
  await shown.goto(`${base}/#${place}`);
  await shown.locator('main h1:not(.loading)').waitFor();
  await shown.locator('main:not(:has(.loading))').waitFor();
  if (click) {
    await shown.getByRole('button', { name: click.button }).first().click();
    await shown.getByText(click.shows).last().waitFor();
  }
  await shown.waitForLoadState('networkidle');
  const viewport = shown.viewportSize() ?? wide.viewport;
  // Not by `fullPage`: what is out of sight is not laid out then.
  const height = await shown.evaluate<number>('document.documentElement.scrollHeight');
  if (isWhole) await shown.setViewportSize({ ...viewport, height });
  await shown.screenshot({
    path: `${folder}/${name}${look}.png`,
    fullPage: asked !== undefined && name !== 'replay-dialog',
  });
  await shown.setViewportSize(viewport);
}
