/** What the overview says of the present and the past, in a real browser. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../../support/deliveries.ts';
import type { Receiver } from '../../support/public.ts';
import { started } from '../../support/receiver.ts';

const { open } = browserForTests();
const minute = 60_000;

/**
 * A receiver after a minute with five deliveries: three events, a duplicate and a forgery. The runs of one handler wait,
 * those of the other took 7 ms.
 */
async function afterOneMinute() {
  const begin = Math.floor(Date.now() / minute) * minute;
  const clock = new ManualClock(begin);
  const { receiver, logs } = await started({ clock }, (r) =>
    r.on('*', { name: 'crm' }, () => {}).on('*', { name: 'board' }, () => clock.advance(7)),
  );
  const send = (traceId: string, secrets?: string) => {
    const body = bodyOf({ traceId });
    return deliver(
      receiver,
      body,
      signedHeaders(body, { timestamp: clock.now(), ...(secrets && { secrets }) }),
    );
  };
  await receiver.handlers.pause('crm');
  for (const [index, traceId] of ['a', 'b', 'c'].entries()) {
    await send(traceId);
    await logs.until('run_done', index + 1);
  }
  await send('c');
  await send('forged', otherSecret);
  await expect.poll(async () => (await receiver.counts()).runs.due).toBe(3);
  const rest = minute - (clock.now() % minute);
  await clock.timer(rest);
  clock.advance(rest + 3);
  await expect.poll(async () => (await receiver.history.list()).length).toBe(1);
  return { receiver, clock, send };
}

/** The overview, as it is seen a moment after the minute. */
async function overviewOf(receiver: Receiver, clock: ManualClock): Promise<Page> {
  const { page, goTo } = await open(receiver, () => 'all', {});
  clock.advance(20_000);
  await page.clock.setFixedTime(clock.now());
  await goTo('/');
  return page;
}

test('a legend says what the last minute that is over has brought, not the running one', async () => {
  const { receiver, clock } = await afterOneMinute();
  const page = await overviewOf(receiver, clock);
  const plotOf = (title: string) => page.locator('.plot', { hasText: title });
  for (const [title, text] of [
    ['Deliveries', 'accepted last 3, at most 3'],
    ['Waiting', 'waiting last 3, at most 3'],
    ['Age of the oldest', 'oldest last 1 min, at most 1 min'],
  ] as const)
    expect(await plotOf(title).locator('.legend').textContent()).toContain(text);
});

test('the figures say how much comes now, how long it takes, and what waits at this moment', async () => {
  const { receiver, clock, send } = await afterOneMinute();
  await send('d');
  await expect.poll(async () => (await receiver.counts()).runs.due).toBe(4);
  const page = await overviewOf(receiver, clock);
  for (const [label, text] of [
    ['Deliveries', /^1 a minute/],
    ['Attempts', /^0.6 a minute/],
    // A handler may have moved the clock before the answer.
    ['Time to answer', /^[18] ms p99p50 [18] ms, in the last 5 minutes/],
    ['Time of an attempt', /^8 ms p99p50 8 ms/],
    ['Waiting now', /^4 /],
    ['Oldest waiting', /^1 min /],
    ['Dead letters', /^0 /],
    ['Quarantine', /^1 /],
  ] as const) {
    const figure = page.locator('.figure', { has: page.getByText(label, { exact: true }) });
    const value = (await figure.textContent())?.slice(label.length);
    expect([label, value]).toEqual([label, expect.stringMatching(text)]);
  }
});

test.each([
  ['hour', 'in a minute', 'of a minute'],
  ['day', 'in 10 minutes', 'of 10 minutes'],
  ['month', 'in 6 hours', 'of 6 hours'],
])(
  'over a %s, the plots say to what their values belong',
  { tags: 'long' },
  async (range, counts, quantiles) => {
    const { receiver, clock } = await afterOneMinute();
    clock.advance(60 * minute);
    const { page, goTo } = await open(receiver, () => 'all', {});
    await page.clock.setFixedTime(clock.now());
    await goTo(`/?range=${range}`);
    const captionOf = (title: string) => page.locator('.plot', { hasText: title }).locator('figcaption');
    expect(await captionOf('Deliveries').textContent()).toContain(`Deliveries ${counts}`);
    expect(await captionOf('Time to answer').textContent()).toContain(`Time to answer ${quantiles}`);
  },
);

test('what the menu and the overview count is asked for once', async () => {
  const { receiver } = await started();
  const { page, goTo } = await open(receiver);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await goTo('/');
  await page.locator('.figures').waitFor();
  expect(asked.filter((path) => path.endsWith('/api/counts'))).toHaveLength(1);
});

test('nothing is shown any more to whoever is no longer admitted', async () => {
  const { receiver, clock } = await afterOneMinute();
  let isAdmitted = true;
  const { page, goTo } = await open(receiver, () => (isAdmitted ? 'all' : undefined), {});
  clock.advance(20_000);
  await page.clock.setFixedTime(clock.now());
  await goTo('/');
  await page.locator('.plots').waitFor();
  isAdmitted = false;
  await expect
    .poll(() => {
      clock.advance(5_000);
      return page.locator('.figures, .plots').count();
    })
    .toBe(0);
  await page.getByRole('alert').getByText('authorize has not admitted this request').first().waitFor();
});

test('alerts that could not be read are not taken for none', async () => {
  const { receiver } = await started();
  const { page, goTo } = await open(receiver);
  const json = { error: { code: 'failed', message: 'The request failed.' } };
  await page.route('**/api/alerts', (route) => route.fulfill({ status: 500, json }));
  await goTo('/');
  await page.getByRole('alert').getByText('The request failed.').waitFor();
});
