/** What the overview plots of deliveries, in a real browser, on both stores. */
import { expect, test } from 'vitest';
import { barriers } from '../../support/barriers.ts';
import { browserForTests } from '../../support/browser.ts';
import { ManualClock } from '../../support/clock.ts';
import { address, bodyOf, deliver, otherSecret, signedHeaders } from '../../support/deliveries.ts';
import type { Receiver } from '../../support/public.ts';
import { started, stopped } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

const { open } = browserForTests();

const minute = 60_000;

/** Sends what is accepted, a duplicate, and five kinds of refused deliveries, one of them three times. */
async function send(receiver: Receiver, timestamp: number): Promise<void> {
  const body = bodyOf();
  const signed = signedHeaders(body, { timestamp });
  for (let copies = 0; copies < 2; copies += 1) await deliver(receiver, body, signed);
  const forged = signedHeaders(body, { timestamp, secrets: otherSecret });
  for (let copies = 0; copies < 3; copies += 1) await deliver(receiver, body, forged);
  await deliver(receiver, body, { ...signed, 'content-type': 'text/plain' });
  await deliver(receiver, 'x'.repeat(2_000));
  await receiver.fetch(new Request(address, { method: 'GET' }));
  await receiver.fetch(
    new Request(address.replace('https:', 'http:'), { method: 'POST', headers: signed, body }),
  );
}

test('what was received, accepted, duplicate and refused is plotted, refusals by their codes', async () => {
  // All that is sent belongs to one minute. No later minute is beyond the plot, however long the stop takes.
  const clock = new ManualClock(Math.floor(Date.now() / minute) * minute - 30 * minute);
  const database = temporaryDatabase();
  const former = await started({ clock, database, limits: { body: 1_000 } });
  await send(former.receiver, clock.now());
  // Counts are written when a minute is over or the receiver stops.
  await stopped(former.receiver, clock);

  const { receiver } = await started({ database });
  const { page, goTo, complaints } = await open(receiver);
  await goTo('/');
  const plot = (title: string) =>
    page.locator('.plot', { has: page.locator('strong', { hasText: new RegExp(`^${title}$`) }) });
  /** The names of a plot's lines, and the greatest value of each. */
  const linesOf = async (title: string) => {
    const legend = await plot(title).locator('.legend').innerText();
    return Array.from(
      legend.matchAll(/(\w+) last \d+, at most (\d+)/g),
      ([, line, most]) => `${line} ${most}`,
    );
  };
  await plot('Refused').waitFor();
  expect(await linesOf('Deliveries')).toEqual([
    'received 9',
    'accepted 1',
    'duplicate 1',
    'refused 7',
    'quarantined 0',
  ]);
  expect(await linesOf('Refused')).toEqual([
    'https_required 1',
    'media_type 1',
    'method 1',
    'not_authentic 3',
    'other 1',
  ]);
  // Lines are told apart without their colours, too.
  const linesOfRefused =
    "[...document.querySelectorAll('.plot')[1].querySelectorAll('svg:not(.swatch) .line')]";
  const strokes = await page.evaluate<string[]>(
    `${linesOfRefused}.map((line) => getComputedStyle(line).strokeDasharray)`,
  );
  expect(new Set(strokes).size).toBe(5);
  expect(await barriers(page)).toEqual([]);
  expect(complaints).toEqual([]);
});

test('values and times can be read off: at the axes, under the pointer and with arrow keys', async () => {
  const clock = new ManualClock(Date.parse('2026-03-02T13:29:30Z'));
  const { receiver } = await started({ clock });
  for (const traceId of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const body = bodyOf({ traceId });
    await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  }
  await clock.timer(30_000);
  clock.advance(30_003);
  await expect.poll(async () => (await receiver.history.list()).length).toBe(1);
  clock.advance(70_000);
  const { page, goTo, complaints } = await open(receiver, () => 'all', {});
  await page.clock.setFixedTime(clock.now());
  await goTo('/');
  const plot = (title: string) => page.locator('.plot', { hasText: title });
  const labels = plot('Deliveries').locator('.lines > svg text');
  const texts = await labels.allTextContents();
  expect(texts.slice(0, 4)).toEqual(['0', '2', '4', '6']);
  expect(texts.slice(4)).toEqual(['13:40', '13:50', '14:00', '14:10', '14:20', '14:30']);
  expect(await plot('Time to answer').locator('.lines > svg text').first().textContent()).toBe('0');
  // The only minute with a duration has no neighbour to be joined with by a line.
  expect(await plot('Time to answer').locator('.dot').count()).toBe(2);

  const slider = page.getByRole('slider', { name: 'Deliveries in a minute' });
  const readout = plot('Deliveries').locator('.readout');
  await slider.focus();
  expect(await readout.textContent()).toContain('2 Mar, 14:30 (13:30 UTC)received 0');
  await slider.press('ArrowLeft');
  await expect.poll(() => readout.textContent()).toContain('2 Mar, 14:29 (13:29 UTC)received 6accepted 6');
  expect(await slider.getAttribute('aria-valuetext')).toContain(
    '2 Mar, 14:29 (13:29 UTC): received 6, accepted 6',
  );
  await slider.press('Home');
  await expect.poll(() => readout.textContent()).toContain('2 Mar, 13:31 (12:31 UTC)received 0');
  await slider.press('Escape');
  await readout.waitFor({ state: 'detached' });

  const { width = 0 } = (await slider.boundingBox()) ?? {};
  await slider.hover({ position: { x: width - 2, y: 40 } });
  await expect.poll(() => readout.textContent()).toContain('2 Mar, 14:30');
  expect(await barriers(page)).toEqual([]);
  expect(complaints).toEqual([]);
});
