/** What the overview says of the present and the past, in a real browser. */
import { expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../../support/deliveries.ts';
import { started } from '../../support/receiver.ts';

const { open } = browserForTests();
const minute = 60_000;

test('a legend says what the last minute that is over has brought, not the running one', async () => {
  const begin = Math.floor(Date.now() / minute) * minute;
  const clock = new ManualClock(begin);
  const { receiver } = await started({ clock }, (r) => r.on('*', { name: 'crm' }, () => {}));
  await receiver.handlers.pause('crm');
  const body = bodyOf();
  await deliver(receiver, body, signedHeaders(body, { timestamp: begin }));
  await expect.poll(async () => (await receiver.counts()).runs.due).toBe(1);
  await clock.timer(minute);
  clock.advance(minute + 3);
  await expect.poll(async () => (await receiver.history.list()).length).toBe(1);

  const { page, goTo } = await open(receiver);
  await page.clock.setFixedTime(begin + minute + 20_000);
  await goTo('/');
  const legendOf = (title: string) => page.locator('.plot', { hasText: title }).locator('.legend');
  for (const [title, text] of [
    ['Deliveries', 'accepted 1, at most 1'],
    ['Waiting', 'waiting 1, at most 1'],
    ['Age of the oldest', 'oldest 1 min, at most 1 min'],
  ] as const)
    expect(await legendOf(title).textContent()).toContain(text);
});
