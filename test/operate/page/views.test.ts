/** Every view of the page in a real browser, on both stores. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { bodyOf, deliver, deliverAll } from '../../support/deliveries.ts';
import { operated } from '../../support/operated.ts';
import { started } from '../../support/receiver.ts';

const { open } = browserForTests();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong, in words. */
async function barriers(page: Page): Promise<readonly string[]> {
  // The page's policy lets no script in: this one comes from the browser's own side.
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      readonly axe: {
        run(): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
      };
    };
    const { violations } = await checker.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    );
  });
}

const views = [
  ['/', 'Overview', 'Dead letters'],
  ['/?range=day', 'Overview', 'Time to answer'],
  ['/events', 'Events', 'trace-ended'],
  ['/events?state=dead', 'Events', 'dead: crm'],
  ['/events/trace-ended', 'CallHandler.CallEnded', 'the CRM is down'],
  ['/calls', 'Calls', 'call-1'],
  ['/calls/call-1', 'Call call-1', 'talk 3 min 12 s'],
  ['/failures', 'Failures', 'the CRM is down'],
  ['/replay?state=dead', 'Replay in bulk', 'Show what would run'],
  ['/quarantine', 'Quarantine', 'No secret of the receiver made its signature.'],
  ['/quarantine/1', 'Delivery 1', 'If the secret was rotated'],
  ['/handlers', 'Handlers and processes', 'crm'],
  ['/drift', 'Drift', 'payload.novelty'],
  ['/audit', 'Audit', 'Who changed something'],
] as const;

test('each view shows what is there, without a complaint of the browser, and axe finds nothing', async () => {
  const { receiver } = await operated();
  const { page, goTo, complaints } = await open(receiver);
  for (const [place, title, text] of views) {
    await goTo(place);
    expect(await page.locator('h1').textContent()).toBe(title);
    await page.locator('main').getByText(text).filter({ visible: true }).first().waitFor();
    expect([place, await barriers(page)]).toEqual([place, []]);
    expect([place, complaints]).toEqual([place, []]);
  }
});

test.each([
  ['dark', { colorScheme: 'dark' }],
  ['narrow', { viewport: { width: 360, height: 700 } }],
] as const)('%s, axe finds nothing, and no view is wider than the screen', async (_, options) => {
  const { receiver } = await operated();
  const { page, goTo, complaints } = await open(receiver, () => 'all', options);
  for (const [place] of views) {
    await goTo(place);
    expect([place, await barriers(page)]).toEqual([place, []]);
    const root = 'document.documentElement';
    expect([place, await page.evaluate(`${root}.scrollWidth - ${root}.clientWidth`)]).toEqual([place, 0]);
  }
  expect(complaints).toEqual([]);
});

test('long texts move nothing out of sight, and a time is shown whole', async () => {
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'crm', retry: { attempts: 1 } }, () => {
      throw new Error('the CRM is down, and it is not known for how long: '.repeat(6));
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
  await logs.until('run_dead');
  await receiver.handlers.pause('crm', { by: 'ann', reason: 'the CRM moves to another house '.repeat(6) });
  const wide = await open(receiver);
  await wide.goTo('/handlers');
  await wide.page.getByRole('button', { name: 'Resume…' }).waitFor();
  const table = "document.querySelector('[aria-label=Handlers]')";
  expect(await wide.page.evaluate(`${table}.scrollWidth - ${table}.clientWidth`)).toBe(0);

  const narrow = await open(receiver, () => 'all', {
    viewport: { width: 390, height: 800 },
    locale: 'en-US',
  });
  await narrow.goTo('/events/trace-1');
  const heightOf = "document.querySelector('tbody tr').getBoundingClientRect().height";
  expect(await narrow.page.evaluate(heightOf)).toBeLessThan(60);
  await narrow.goTo('/events');
  const { width = 0 } = (await narrow.page.getByLabel('Arrived since').boundingBox()) ?? {};
  expect(width).toBeGreaterThan(250);
});

test('of a call with many events, the latest are listed, and older ones that have dead letters', async () => {
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'crm', retry: { attempts: 1 } }, ({ traceId }) => {
      if (traceId === 'oldest') throw new Error('the CRM is down');
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'oldest', callId: 'call-1' }));
  await logs.until('run_dead');
  const others = Array.from({ length: 201 }, (_, place) =>
    bodyOf({ traceId: `later-${place}`, callId: 'call-1' }),
  );
  await deliverAll(receiver, others);
  const { page, goTo } = await open(receiver);
  await goTo('/calls/call-1');
  await page.getByRole('region', { name: 'Events' }).getByText('oldest').waitFor();
  await page.getByRole('button', { name: 'Dismiss…' }).waitFor();
  await page.getByText('The latest 200, and older ones that have dead letters.').waitFor();
  await page.getByRole('link', { name: 'All events of this call' }).click();
  await page.getByRole('link', { name: 'Older →' }).waitFor();
});

describe('what is not there', () => {
  test('views of an empty inbox say what to do next', async () => {
    const { receiver } = await started();
    const { page, goTo, complaints } = await open(receiver);
    for (const place of ['/', '/events', '/calls', '/failures', '/quarantine', '/drift']) {
      await goTo(place);
      await page.locator('.empty').first().waitFor();
      expect([place, await barriers(page)]).toEqual([place, []]);
    }
    expect(complaints).toEqual([]);
  });

  test("what the API says is wrong is shown in the API's words", async () => {
    const { receiver } = await started();
    const { page, goTo } = await open(receiver);
    await goTo('/events/no-such-trace');
    await page.getByRole('alert').getByText('There is nothing at /events/no-such-trace').waitFor();
    await goTo('/calls/..');
    await page.getByRole('alert').getByText('No address can have the id "." or ".."').waitFor();
    await goTo('/nothing');
    await page.getByRole('heading', { name: 'There is no such view' }).waitFor();
  });

  test('an event that arrives is shown by itself', async () => {
    const { receiver } = await started();
    const { page, goTo } = await open(receiver);
    await goTo('/events');
    await page.getByText('No event has arrived yet.').waitFor();
    await deliver(receiver, bodyOf({ traceId: 'trace-new' }));
    await page.getByText('trace-new').waitFor();
  });

  test('an event is shown as soon as the receiver says that something has changed', async () => {
    const { receiver } = await started();
    const { page, goTo, complaints } = await open(receiver);
    const asked = page.waitForRequest('**/api/changes');
    await goTo('/events');
    expect((await asked).headers()['accept']).toBe('text/event-stream');
    await deliver(receiver, bodyOf({ traceId: 'trace-new' }));
    await page.getByText('trace-new').waitFor();
    expect(complaints).toEqual([]);
  });
});
