// @module-tag long
/** How an operator narrows down what a view shows: the conditions are in the address, and on the screen. */
import { expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { operated } from '../../support/operated.ts';

const { open } = browserForTests();

test('a time is typed part by part, and one that can not be shown is refused in words', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  await goTo('/events');
  const since = page.getByLabel('Arrived since');
  await since.fill('2026-11-27T10:45');
  await since.press('Tab');
  await page.keyboard.press('Tab');
  // On its way the year is 2, 20 and 202, when Berlin was 53 minutes and 28 seconds ahead.
  for (const digit of '2025') await page.keyboard.press(digit);
  expect(await since.inputValue()).toBe('2025-11-27T10:45');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.hash.includes('since=2025-11-27T09%3A45%3A00.000Z'));
  await goTo('/events?since=%2B275760-09-13T00:00:00.000Z');
  await page.getByRole('alert').getByText('The option since').waitFor();
});

test('every condition of an address is shown, stays when another is chosen, and goes with the address', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  const [group] = await receiver.failures.list();
  const condition = page.getByLabel('Group of failures');
  await goTo('/failures');
  await page.getByRole('link', { name: 'all its events' }).click();
  expect(await condition.inputValue()).toBe(group?.id);
  await page.getByLabel('State').selectOption('');
  await page.waitForURL((url) => !url.hash.includes('state='));
  expect(await condition.inputValue()).toBe(group?.id);
  await condition.fill('');
  await page.getByRole('button', { name: 'Filter' }).click();
  await condition.waitFor({ state: 'detached' });

  await goTo('/replay?callId=call-1');
  await page.getByRole('button', { name: 'Show what would run' }).click();
  await page.getByRole('heading', { name: 'What would run' }).waitFor();
  await goTo(`/replay?failure=${group?.id}`);
  expect(await condition.inputValue()).toBe(group?.id);
  expect(await page.getByLabel('Call', { exact: true }).inputValue()).toBe('');
  expect(await page.getByRole('heading', { name: 'What would run' }).count()).toBe(0);
});

test('the way back from a call that was found by its id leads to the calls', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  await goTo('/calls');
  await page.getByLabel('Call', { exact: true }).fill('call-1');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Call call-1' }).waitFor();
  await page.goBack();
  await page.getByRole('heading', { name: 'Calls' }).waitFor();
  expect(new URL(page.url()).hash).toBe('#/calls');
});

test('an empty list says whether it is the filter that nothing matches', async () => {
  const { receiver } = await operated();
  await receiver.handlers.pause('crm');
  const { page, goTo } = await open(receiver);
  for (const [place, text] of [
    ['/audit?since=2040-01-01T00:00:00.000Z', 'No entry matches.'],
    ['/failures?handler=other', 'Nothing of this handler fails.'],
  ] as const) {
    await goTo(place);
    expect(await page.locator('.empty-title').allTextContents()).toEqual([text]);
  }
});

test('the menu leads from a filled replay form to an empty one', async () => {
  const { receiver } = await operated();
  const { page, goTo } = await open(receiver);
  await goTo('/replay');
  const call = page.getByLabel('Call', { exact: true });
  await call.fill('call-1');
  await page.getByRole('button', { name: 'Show what would run' }).click();
  const preview = page.getByRole('heading', { name: 'What would run' });
  await preview.waitFor();
  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Replay' }).click();
  await preview.waitFor({ state: 'detached' });
  expect([new URL(page.url()).hash, await call.inputValue()]).toEqual(['#/replay', '']);
  await page.goBack();
  await expect.poll(() => call.inputValue()).toBe('call-1');
});
