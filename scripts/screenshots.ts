/**
 * Makes `docs/images/*.png`: a day of a sandbox's calls, of which an hour a handler fails, and what an operator does about
 * that by the page.
 *
 *   npm run screenshots            writes the pictures of the docs
 *   npm run screenshots -- FOLDER  writes them into a folder, also narrow and dark ones, for review
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Locator, Page } from 'playwright-core';
import { browserPath, launch } from './browser.ts';
import { buildPageIfNeeded } from './page.ts';
import { beginDay, type Day } from './screenshots/day.ts';
import { failing } from './screenshots/handlers.ts';
import { minute } from './screenshots/passing-time.ts';
import { walkThrough } from './screenshots/walkthrough.ts';

const hour = 60 * minute;
const midnight = Date.parse('2026-03-02T00:00+01:00');
const outage = { from: midnight + 14 * hour, to: midnight + 15 * hour };
/** How many calls begin in each hour of the day. */
const callsByHour = [2, 1, 0, 0, 1, 2, 4, 8, 14, 22, 28, 34, 38, 46, 70, 52, 36, 32, 38, 44, 34, 18, 10, 4];
/** Some calls two days before: what the platform sends and its documentation lacks is then no news, and no alert. */
const callsBefore = Array.from({ length: 30 }, (_, index) => midnight - 26 * hour + index * minute);

const wide = { width: 1180, height: 720 };
/** The looks of the page, by the suffix of the pictures' names. */
const looks = {
  '': { viewport: wide, colorScheme: 'light' },
  '-dark': { viewport: wide, colorScheme: 'dark' },
  '-narrow': { viewport: { width: 360, height: 780 }, colorScheme: 'light' },
} as const;

/** The views that the walkthrough doesn't show. */
const otherViews = {
  events: 'events',
  calls: 'calls',
  quarantine: 'quarantine',
  delivery: 'quarantine/1',
  drift: 'drift',
  handler: `handlers/${failing}?range=day`,
} as const;

const asked = process.argv[2];
const folder = asked ?? fileURLToPath(new URL('../docs/images', import.meta.url));
mkdirSync(folder, { recursive: true });
await buildPageIfNeeded();
const day = await beginDay({
  begin: midnight - 27 * hour,
  calls: [...callsBefore, ...callsOfTheDay()],
  outage,
});
const browser = await launch(await browserPath());
const shown = await browser.newPage({ viewport: wide, locale: 'en-GB', timezoneId: 'Europe/Berlin' });
const end = midnight + 24 * hour;
let telling = '';
const event = async () => (telling = await tellingEvent(day));
await walkThrough({ day, outage, end, shown, rate: 1, event, picture: take });
for (const [name, view] of Object.entries(otherViews)) {
  await goTo(view);
  await take(name);
}
// Last, because the audit list records them.
await goTo(`events/${telling}`);
await takeOpened('body', 'Body and headers');
await shown.locator('main a[href*="calls/"]').click();
await shown.getByRole('heading', { name: /^Call / }).waitFor();
await takeOpened('transcript', 'Transcript');
await browser.close();
await day.end();

function callsOfTheDay(): number[] {
  return callsByHour.flatMap((count, at) =>
    Array.from({ length: count }, (_, index) => {
      // Callers don't keep to a beat.
      const early = ((index * 7_919) % 100) / 100;
      return midnight + (at + (index + early) / count) * hour;
    }),
  );
}

/** The end of a call that was transferred, of which an event came again: its drawing has everything to be explained. */
async function tellingEvent({ receiver, sandbox }: Day): Promise<string> {
  const { events } = await receiver.events.list({ state: 'dead', handler: failing });
  for (const { traceId, callId = '' } of events) {
    const { events: ofCall } = await receiver.events.list({ callId });
    const isTransferred = sandbox.calls.get(callId)?.scenario === 'transferred';
    if (isTransferred && ofCall.some(({ duplicates }) => duplicates !== undefined)) return traceId;
  }
  throw new Error('No dead letter is of such a call: with another `callSeed`, one is.');
}

async function goTo(view: string): Promise<void> {
  await shown.goto('about:blank');
  await shown.goto(`${day.page}/#/${view}`);
  await shown.locator('main h1:not(.loading)').waitFor();
}

/** Shows what is shown on request only, and takes the picture from its heading on. */
async function takeOpened(what: string, heading: string): Promise<void> {
  await shown.getByRole('button', { name: `Show ${what}` }).click();
  await shown.getByRole('button', { name: `Hide ${what}` }).waitFor();
  await take(what, false, shown.getByRole('heading', { name: heading }));
}

/** Takes a picture of the first screen, of the whole page, or from an element on. */
async function take(name: string, isWhole = false, top?: Locator): Promise<void> {
  for (const [suffix, { viewport, colorScheme }] of Object.entries(looks)) {
    if (suffix !== '' && asked === undefined) continue;
    await shown.emulateMedia({ colorScheme });
    await shown.setViewportSize(viewport);
    // Before it comes to rest: what comes into sight may be less high than was expected.
    await top?.evaluate((element) => element.scrollIntoView());
    await comeToRest();
    if (isWhole) await shown.setViewportSize({ ...viewport, height: await heightOf(shown) });
    await shown.screenshot({ path: `${folder}/${name}${suffix}.png` });
  }
  await shown.emulateMedia({ colorScheme: 'light' });
  await shown.setViewportSize(wide);
}

/** Resolves once all is shown: a view may ask for more when it has its first answer. */
async function comeToRest(): Promise<void> {
  await shown.locator('main:not(:has(.loading))').waitFor();
  for (let [before, now] = ['', ' ']; before !== now;) {
    before = now;
    await shown.waitForTimeout(300);
    now = await shown.locator('main').innerHTML();
  }
}

/** Not by `fullPage`: what is out of sight is not laid out then. */
function heightOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollHeight');
}
