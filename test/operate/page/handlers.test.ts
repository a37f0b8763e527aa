/** What the page shows of handlers over time, and which processes are alive, in a real browser. */
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { barriers } from '../../support/barriers.ts';
import { browserForTests } from '../../support/browser.ts';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../../support/deliveries.ts';
import { isOnPostgres } from '../../support/inbox.ts';
import type { Receiver } from '../../support/public.ts';
import { started, stopped } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

const { open } = browserForTests();

test('a handler shows over an hour, a day or 30 days what it did and how long that took, and no other', async () => {
  const minute = 60_000;
  const database = temporaryDatabase();
  // The last minute of an hour that is over, which all ranges have half an hour later.
  const begin = Date.parse('2026-03-01T11:59:00Z');
  const clock = new ManualClock(begin);
  const register = (r: Receiver) =>
    r
      .on('*', { name: 'crm/sync', retry: { attempts: 1 } }, ({ traceId }) => {
        clock.advance(1_000);
        if (traceId === 'bad') throw new Error('no');
      })
      .on('*', { name: 'mail' }, () => {});
  const former = await started({ clock, database }, register);
  for (const traceId of ['good', 'bad']) {
    const body = bodyOf({ traceId });
    await deliver(former.receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    await former.logs.until(traceId === 'bad' ? 'run_dead' : 'run_done');
  }
  await former.logs.until('run_done', 3);
  // Counts are written when a minute is over or the receiver stops.
  await stopped(former.receiver, clock);

  clock.advance(begin + 30 * minute - clock.now());
  const { receiver } = await started({ clock, database }, register);
  const { page, goTo, complaints } = await open(receiver, () => 'all', {});
  await page.clock.setFixedTime(clock.now());
  await goTo('/handlers');
  await page.getByRole('region', { name: 'Handlers' }).getByRole('link', { name: 'crm/sync' }).click();
  await page.getByRole('heading', { name: 'crm/sync' }).waitFor();
  const legendOf = (title: string) => page.locator('.plot', { hasText: title }).locator('.legend');
  for (const [range, step] of [
    ['Last day', '10 minutes'],
    ['Last 30 days', '6 hours'],
    ['Last hour', 'a minute'],
  ] as const) {
    await page.getByRole('link', { name: range }).click();
    await page.getByText(`of ${step}`).waitFor();
    await expect
      .poll(() => legendOf('Attempts').textContent())
      .toMatch(/done last \d, at most 1.*dead last \d, at most 1/v);
    expect(await legendOf('Time of an attempt').textContent()).toMatch(
      /p50 .*at most 1.2 s.*p99 .*at most 1.2 s/v,
    );
  }
  expect(await barriers(page)).toEqual([]);
  expect(complaints).toEqual([]);
  await page.getByRole('link', { name: 'its events' }).click();
  expect(await page.getByLabel('Handler', { exact: true }).inputValue()).toBe('crm/sync');
});

test('what is left of a removed handler is dismissed, by whoever may', async () => {
  const database = temporaryDatabase();
  const former = await started({ database, retry: { base: '1d' } }, (r) =>
    r.on('*', { name: 'gone' }, () => {
      throw new Error('no');
    }),
  );
  await deliver(former.receiver, bodyOf({ traceId: 'waits' }));
  await former.logs.until('run_retry');
  await former.receiver.stop();
  const { receiver } = await started({ database }, (r) => r.on('*', { name: 'crm' }, () => {}));
  const access = { access: ['look', 'dismiss'], by: 'ann' } as const;
  const { page, goTo } = await open(receiver, () => access);
  await goTo('/handlers');
  const row = page.getByRole('row', { name: /^gone/ });
  await row.getByText('not registered').waitFor();
  expect(await page.getByRole('button').allTextContents()).not.toContain('Pause…');
  expect(await page.getByRole('row', { name: /^crm/ }).getByRole('button').count()).toBe(0);
  await row.getByRole('button', { name: 'Dismiss…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('1 run of 1 event (gone: 1) would be dismissed.').waitFor();
  await dialog.getByLabel('Reason').fill('renamed to crm');
  await dialog.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByRole('status').getByText('Dismissed: 1 run of 1 event (gone: 1).').waitFor();
  await row.waitFor({ state: 'detached' });
  expect((await receiver.events.get('waits'))?.runs).toMatchObject([
    { state: 'done', reason: expect.stringContaining('dismissed by ann: renamed to crm') as string },
  ]);
});

test('who is alive is shown with its machine, its number there and its start', async () => {
  const database = temporaryDatabase();
  const clock = new ManualClock();
  const { receiver } = await started({ database, clock }, (r) => r.on('*', { name: 'crm' }, () => {}));
  await started({ database, clock }, (r) => r.on('*', { name: 'mail' }, () => {}));
  const { page, goTo } = await open(receiver);
  await goTo('/handlers');
  const table = page.getByRole('region', { name: 'Processes' });
  const heads = ['Process', 'Machine', 'PID', 'Started', ...(isOnPostgres ? ['Last heartbeat'] : [])];
  expect(await table.getByRole('columnheader').allTextContents()).toEqual([...heads, 'Handlers']);
  for (const [name, mark] of [
    ['crm', ' this one'],
    ['mail', ' '],
  ] as const) {
    const cells = await table.getByRole('row', { name }).getByRole('cell').allTextContents();
    expect(cells[0]).toMatch(new RegExp(`^\\d+${mark}$`));
    expect(cells.slice(1, 3)).toEqual([hostname(), String(process.pid)]);
    expect(cells[3]).toMatch(/^\d+ \w+, \d\d:\d\d:\d\d \(.*\d\d:\d\d UTC\)$/);
  }
});

test('what waits in the process for a handler that hangs is shown, although it is not stored', async () => {
  const hangs = Promise.withResolvers<void>();
  const { receiver } = await started({}, (r) =>
    r.on('*', { name: 'crm', concurrency: 1 }, () => hangs.promise).on('*', { name: 'board' }, () => {}),
  );
  for (const traceId of ['a', 'b', 'c']) await deliver(receiver, bodyOf({ traceId }));
  const crm = async () => (await receiver.handlers.list()).handlers.find(({ name }) => name === 'crm');
  await expect.poll(crm).toMatchObject({ due: 0, here: { waiting: 2, active: 1 } });
  const { page, goTo } = await open(receiver);
  await goTo('/handlers');
  await page.getByText('1 run is active in this process, and 2 wait.').waitFor();
  expect(await page.getByText('active in this process').count()).toBe(1);
  hangs.resolve();
  await page.getByText('active in this process').waitFor({ state: 'detached' });
});
