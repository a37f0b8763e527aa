/** Every view of the page in a real browser, on both stores. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { barriers } from '../../support/barriers.ts';
import { browserForTests } from '../../support/browser.ts';
import { isOnPostgres } from '../../support/inbox.ts';
import { operated } from '../../support/operated.ts';
import { started } from '../../support/receiver.ts';

const { open } = browserForTests();

/** The rules of axe whose outcome can change with the colours or the width. */
const rulesOfLooks = ['color-contrast', 'link-in-text-block', 'target-size', 'scrollable-region-focusable'];

const views = [
  ['/', 'Overview', 'Dead letters'],
  ['/?range=day', 'Overview', 'Time to answer'],
  ['/events', 'Events', 'trace-ended'],
  ['/events?state=dead', 'Events', 'dead crm'],
  ['/events/trace-ended', 'CallHandler.CallEnded', 'the CRM is down'],
  ['/calls', 'Calls', 'call-1'],
  ['/calls/call-1', 'Call call-1', 'talk 3 min 12 s'],
  ['/failures', 'Failures', 'the CRM is down'],
  ['/replay?state=dead', 'Replay in bulk', 'Show what would run'],
  ['/quarantine', 'Quarantine', 'Its signature matches no secret of the receiver.'],
  ['/quarantine/1', 'Delivery 1', 'If the secret was rotated'],
  ['/handlers', 'Handlers and processes', 'crm'],
  ['/handlers/crm', 'crm', 'Over time'],
  ['/drift', 'Drift', 'payload.novelty'],
  ['/audit', 'Audit', 'Who changed something'],
] as const;

interface Visit {
  readonly page: Page;
  /** What was found, with the place, for a failure to tell of. */
  readonly found: (what: unknown) => unknown;
}

/** Goes through the views, each with what must be true of it there. */
async function throughViews(look: (visit: Visit) => Promise<void>): Promise<void> {
  const { receiver } = await operated();
  // Colours that are changed are there at once.
  const { page, goTo, complaints } = await open(receiver, () => 'all', { reducedMotion: 'reduce' });
  for (const [place, title, text] of views) {
    const found = (what: unknown) => [place, what];
    await goTo(place);
    expect(found(await page.locator('h1').textContent())).toEqual(found(title));
    await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
    await look({ page, found });
    expect(found(complaints)).toEqual(found([]));
  }
}

/** What axe finds. Whichever store a view comes from, it looks the same: axe, which takes longest, looks at it once. */
const foundByAxe = async (page: Page): Promise<readonly string[]> => (isOnPostgres ? [] : barriers(page));

test('each view shows what is there, without a complaint of the browser, and axe finds nothing', async () => {
  await throughViews(async ({ page, found }) => {
    expect(found(await foundByAxe(page))).toEqual(found([]));
  });
});

// Whichever store it comes from, it looks the same.
test.skipIf(isOnPostgres)(
  'axe finds nothing in dark and narrow either, and no view is wider than the screen',
  { tags: 'long' },
  async () => {
    await throughViews(async ({ page, found }) => {
      const wide = page.viewportSize() ?? { width: 0, height: 0 };
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(found(await barriers(page, rulesOfLooks))).toEqual(found([]));
      await page.emulateMedia({ colorScheme: 'light' });

      await page.setViewportSize({ width: 360, height: 700 });
      const root = 'document.documentElement';
      expect(found(await page.evaluate(`${root}.scrollWidth - ${root}.clientWidth`))).toEqual(found(0));
      expect(found(await barriers(page, rulesOfLooks))).toEqual(found([]));
      await page.setViewportSize(wide);
    });
  },
);

test('views of an empty inbox say what to do next', async () => {
  const { receiver } = await started({}, () => {});
  const { page, goTo, complaints } = await open(receiver);
  const places = ['/', '/events', '/calls', '/failures', '/quarantine', '/handlers', '/drift', '/audit'];
  for (const place of [...places, '/handlers/crm', '/replay?state=dead']) {
    await goTo(place);
    if (place.startsWith('/replay')) await page.getByRole('button', { name: 'Show what would run' }).click();
    await page.locator('.empty').first().waitFor();
    expect([place, await foundByAxe(page)]).toEqual([place, []]);
  }
  expect(complaints).toEqual([]);
});
