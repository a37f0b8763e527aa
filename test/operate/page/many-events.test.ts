// @module-tag long
/** The page over an inbox of ten thousand events: no list is read whole. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { bodyOf, deliverAll } from '../../support/deliveries.ts';
import type { Receiver } from '../../support/public.ts';
import { started } from '../../support/receiver.ts';

const { open } = browserForTests();

const count = 10_000;
const perCall = 4;
const pageSize = 100;
const events = Array.from({ length: count }, (_, index) => ({
  traceId: `trace-${String(index).padStart(5, '0')}`,
  callId: `call-${String(Math.floor(index / perCall)).padStart(4, '0')}`,
  // Some here and there, but more than one page of them.
  eventName: index % 83 === 0 ? 'CallHandler.CallTransferred' : 'CallHandler.CallEnded',
}));
const transferred = events.filter(({ eventName }) => eventName === 'CallHandler.CallTransferred');

async function receiverOfMany(): Promise<Receiver> {
  const { receiver } = await started({}, (r) =>
    r
      .on('*', { name: 'board' }, () => {})
      .on('CallHandler.CallTransferred', { name: 'crm', retry: { attempts: 1 } }, () => {
        throw new Error('the CRM is down');
      }),
  );
  await deliverAll(
    receiver,
    events.map((event) => bodyOf({ ...event, payload: { transfer_to: 'sip:desk@example.com' } })),
  );
  await expect.poll(async () => (await receiver.counts()).events).toMatchObject({ new: 0, open: 0 });
  return receiver;
}

/** The number of rows in each answer that the page gets with a list. */
function followLists(page: Page): { readonly rows: () => Promise<readonly number[]> } {
  const answers: Promise<number>[] = [];
  page.on('response', (response) => {
    if (response.status() !== 200 || !/\/api\/(?:events|calls)\?/v.test(response.url())) return;
    // Of an answer to a view that was left, nothing is shown.
    const rows = response.json().then(rowsIn, () => 0);
    answers.push(rows);
  });
  return { rows: () => Promise.all(answers) };
}

function rowsIn(answer: {
  readonly events?: readonly unknown[];
  readonly calls?: readonly unknown[];
}): number {
  return (answer.events ?? answer.calls ?? []).length;
}

/** The ids in a list, from the page that is shown to the last one, or through so many pages. */
async function idsThrough(
  page: Page,
  label: 'Events' | 'Calls',
  pages = Infinity,
): Promise<readonly string[]> {
  const table = page.getByRole('region', { name: label });
  const column = label === 'Events' ? 'td:last-child code' : 'td:nth-child(2) code';
  const older = page.getByRole('link', { name: 'Older →' });
  const found: string[] = [];
  for (;;) {
    const ids = await table.locator(column).allTextContents();
    expect(ids.length).toBeLessThanOrEqual(pageSize);
    found.push(...ids);
    if (found.length >= pages * pageSize || (await older.count()) === 0) return found;
    await older.click();
    const next = table
      .locator('tbody tr')
      .first()
      .filter({ hasNotText: ids[0] ?? '' });
    // A page that is full may have been the last.
    await next.or(page.getByText('There is nothing older.')).waitFor();
  }
}

const sorted = (ids: Iterable<string>) => [...ids].sort();

test('ten thousand events are paged through and searched, a page at a time', async () => {
  const receiver = await receiverOfMany();
  const { page, goTo, complaints } = await open(receiver);
  const lists = followLists(page);

  await goTo('/events');
  const latest = await idsThrough(page, 'Events', 10);
  expect(new Set(latest).size).toBe(10 * pageSize);
  await page.getByRole('link', { name: '← Latest' }).click();
  await page.getByText(latest[0] ?? '').waitFor();

  await page.getByLabel('Call', { exact: true }).fill('call-1234');
  await page.getByRole('button', { name: 'Filter' }).click();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(perCall);
  const ofCall = events.filter(({ callId }) => callId === 'call-1234').map(({ traceId }) => traceId);
  expect(sorted(await idsThrough(page, 'Events'))).toEqual(ofCall);

  await goTo('/events');
  await page.getByLabel('Handler', { exact: true }).fill('crm');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.locator('tbody tr').first().getByText('dead crm').waitFor();
  expect(sorted(await idsThrough(page, 'Events'))).toEqual(transferred.map(({ traceId }) => traceId));

  await goTo('/calls');
  expect(sorted(await idsThrough(page, 'Calls'))).toEqual(
    sorted(new Set(events.map(({ callId }) => callId))),
  );
  await page.getByLabel('Call', { exact: true }).fill('call-1234');
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByRole('heading', { name: 'Call call-1234' }).waitFor();
  await expect
    .poll(() => page.getByRole('region', { name: 'Events' }).locator('tbody tr').count())
    .toBe(perCall);

  await goTo('/failures');
  await page.getByText(`${transferred.length} dead`).waitFor();
  expect(Math.max(...(await lists.rows()))).toBe(pageSize);
  expect(complaints).toEqual([]);
});
