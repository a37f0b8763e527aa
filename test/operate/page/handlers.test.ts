/** Which processes the page shows as alive, in a real browser. */
import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { browserForTests } from '../../support/browser.ts';
import { ManualClock } from '../../support/clock.ts';
import { isOnPostgres } from '../../support/inbox.ts';
import { started } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

const { open } = browserForTests();

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
