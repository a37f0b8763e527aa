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
    return Array.from(legend.matchAll(/(\w+) \d+, at most (\d+)/g), ([, line, most]) => `${line} ${most}`);
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
