/** Every view of the page in a real browser, on both stores. */
import { expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { operated } from '../../support/operated.ts';

const { open } = browserForTests();

test.each([
  ['/', 'Overview', 'Dead letters'],
  ['/events', 'Events', 'trace-ended'],
  ['/events?state=dead', 'Events', 'dead: crm'],
  ['/events/trace-ended', 'CallHandler.CallEnded', 'the CRM is down'],
])('%s shows what is there', async (place, title, text) => {
  const { receiver } = await operated();
  const { page, goTo, complaints } = await open(receiver);
  await goTo(place);
  expect(await page.locator('h1').textContent()).toBe(title);
  await page.locator('main').getByText(text).first().waitFor();
  expect(complaints).toEqual([]);
});

test('a dead letter is found, understood, replayed and gone', async () => {
  const { receiver, mend } = await operated();
  const { page, goTo, complaints } = await open(receiver);
  await goTo('/events?state=dead');
  await page.getByRole('link', { name: 'CallHandler.CallEnded' }).click();
  await page.getByText('the CRM is down').first().waitFor();
  mend();
  await page.getByRole('button', { name: 'Replay…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 run of 1 event (crm: 1) would be run again.').waitFor();
  await dialog.getByLabel('Reason').fill('the CRM is back');
  await dialog.getByRole('button', { name: 'Replay' }).click();
  await page.getByRole('status').getByText('Replayed: 1 run of 1 event').waitFor();
  await page.locator('main table .state-done').waitFor();
  expect((await receiver.counts()).runs.dead).toBe(0);
  expect(complaints).toEqual([]);
});
