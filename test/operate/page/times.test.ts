/** Where the page shows a time, in a real browser: whoever compares it with a log needs UTC, also without a mouse. */
import { expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../../support/deliveries.ts';
import { RetryLater } from '../../support/public.ts';
import { started } from '../../support/receiver.ts';

const { open } = browserForTests();

test('a time in the zone of the viewer has UTC beside it, with the day if that is another', async () => {
  const clock = new ManualClock(Date.parse('2026-03-01T23:30:15Z'));
  const { receiver } = await started({ clock });
  const body = bodyOf({ traceId: 'trace-1', callId: 'call-1' });
  await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  await clock.timer(45_000);
  clock.advance(45_003);
  await expect.poll(async () => (await receiver.history.list()).length).toBe(1);
  clock.advance(20_000);
  const { page, goTo } = await open(receiver, () => 'all', { timezoneId: 'Europe/Berlin' });
  await page.clock.setFixedTime(clock.now());

  await goTo('/events');
  const times = page.locator('main time');
  expect(await times.allTextContents()).toEqual(['2 Mar, 00:30:15 (1 Mar, 23:30 UTC)']);
  await goTo('/events/trace-1');
  expect(await times.last().textContent()).toBe('2 Mar, 00:30:15 · 1 min 5 s ago · 2026-03-01 23:30:15 UTC');
  await goTo('/calls/call-1');
  const ticks = page.locator('.drawing .tick');
  expect(await ticks.allTextContents()).toEqual(['00:30:15 23:30 UTC']);
  await goTo('/');
  expect(await page.locator('.plot .axis').first().textContent()).toBe(
    '1 Mar, 23:31 (22:31 UTC)2 Mar, 00:31 (1 Mar, 23:31 UTC)',
  );
  const labels = await page.locator('.plot').first().locator('.lines > svg text').allTextContents();
  expect(labels.slice(-4)).toEqual(['2 Mar', '00:10', '00:20', '00:30']);

  // The audit list goes back a year.
  await page.clock.setFixedTime(Date.parse('2027-02-01T00:00:00Z'));
  await goTo('/events/trace-1');
  expect(await times.last().textContent()).toMatch(/^2 Mar 2026, 00:30:15 · 336 d/);
  await page.clock.setFixedTime(clock.now());

  clock.advance(3_600_000);
  await receiver.handlers.pause('Another.Event', { by: 'ann' });
  await goTo('/audit');
  expect(await times.allTextContents()).toEqual(['2 Mar, 01:31:20 (00:31 UTC)']);
});

test.each([
  ['put forward', '2026-03-29T02:00:00Z', ['03:00', '03:10', '03:20', '03:30', '03:40', '03:50', '04:00']],
  ['put back', '2026-10-25T01:50:00Z', ['02:50', '02:00', '02:10', '02:20', '02:30', '02:40', '02:50']],
])('an hour in which clocks are %s has each of its round times', async (_, end, times) => {
  const clock = new ManualClock(Date.parse(end) - 90_000);
  const { receiver } = await started({ clock });
  const body = bodyOf();
  await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  await clock.timer(30_000);
  clock.advance(30_003);
  await expect.poll(async () => (await receiver.history.list()).length).toBe(1);
  clock.advance(69_997);
  const { page, goTo } = await open(receiver, () => 'all', { timezoneId: 'Europe/Berlin' });
  await page.clock.setFixedTime(clock.now());
  await goTo('/');
  const labels = await page.locator('.plot').first().locator('.lines > svg text').allTextContents();
  expect(labels.filter((label) => label.includes(':'))).toEqual(times);
});

test('how long ago something was is true also when nothing has happened since', async () => {
  const clock = new ManualClock(Date.parse('2026-03-01T12:00:00Z'));
  const { receiver } = await started({ clock });
  const body = bodyOf({ traceId: 'trace-1' });
  await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  const arrived = clock.now();
  clock.advance(20_000);
  const { page, goTo } = await open(receiver, () => 'all', {});
  await page.clock.setFixedTime(clock.now());
  await goTo('/events/trace-1');
  // When it happened, arrived and was signed.
  await expect.poll(() => page.getByText('20 s ago').count()).toBe(3);
  await page.clock.setFixedTime(arrived + 3_600_000);
  await expect
    .poll(() => {
      clock.advance(5_000);
      return page.getByText('1 h ago').count();
    })
    .toBe(3);
});

test('a time that is to come is said to be', async () => {
  const clock = new ManualClock(Date.parse('2026-03-01T12:00:00Z'));
  const { receiver, logs } = await started({ clock }, (r) =>
    r.on('*', () => {
      throw new RetryLater('90s', 'the CRM is down');
    }),
  );
  const body = bodyOf({ traceId: 'trace-1' });
  await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  await logs.until('run_retry');
  const { page, goTo } = await open(receiver, () => 'all', {});
  await page.clock.setFixedTime(clock.now());
  await goTo('/events/trace-1');
  expect(await page.locator('td time').getAttribute('title')).toMatch(/ UTC, in 1 min 30 s$/);
});

test.each([-600_000, -50_000, 50_000, 600_000])(
  'a computer whose clock is off by %i ms shows the same',
  async (off) => {
    const clock = new ManualClock(Date.parse('2026-03-01T11:59:15Z'));
    const { receiver } = await started({ clock });
    const body = bodyOf({ traceId: 'trace-1' });
    await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    await clock.timer(45_000);
    clock.advance(45_003);
    await expect.poll(async () => (await receiver.history.list()).length).toBe(1);
    clock.advance(20_000);
    const { page, goTo } = await open(receiver, () => 'all', {});
    await page.clock.setFixedTime(clock.now() + off);
    await goTo('/events/trace-1');
    // When it happened, arrived and was signed.
    await expect.poll(() => page.getByText('1 min 5 s ago').count()).toBe(3);
    await goTo('/');
    const figure = page.locator('.figure').filter({ hasText: 'Deliveries' });
    await figure.getByText('0.2 a minute').waitFor();
  },
);

test('a computer that slept until the answer arrived goes by its own clock', async () => {
  const clock = new ManualClock(Date.parse('2026-03-01T12:00:00Z'));
  const { receiver } = await started({ clock });
  const body = bodyOf({ traceId: 'trace-1' });
  await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  const { page, goTo } = await open(receiver, () => 'all', {});
  await page.clock.setFixedTime(clock.now());
  await page.route('**/api/access', async (route) => {
    const answer = await route.fetch();
    clock.advance(3_600_000);
    await page.clock.setFixedTime(clock.now());
    await route.fulfill({ response: answer });
  });
  await goTo('/events/trace-1');
  // When it happened, arrived and was signed.
  await expect.poll(() => page.getByText('1 h ago').count()).toBe(3);
});
