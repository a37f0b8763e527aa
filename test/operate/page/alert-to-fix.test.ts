// @module-tag long
/** The walkthrough of docs/operate.md from an alert to the fix, which also makes its pictures, on a smaller scale. */
import { expect, onTestFinished, test } from 'vitest';
import { beginDay } from '../../../scripts/screenshots/day.ts';
import { failing } from '../../../scripts/screenshots/handlers.ts';
import { minute } from '../../../scripts/screenshots/passing-time.ts';
import { walkThrough } from '../../../scripts/screenshots/walkthrough.ts';
import { browserForTests } from '../../support/browser.ts';
import { inboxOf, isOnPostgres } from '../../support/inbox.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

const { open } = browserForTests();

// The page is the same on both stores: for every change of the code, one of them shows enough.
const tags = isOnPostgres ? ['long' as const] : [];

test('an operator goes from an alert to the mended state by the page alone', { tags }, async () => {
  const begin = Date.parse('2026-03-02T13:00:00Z');
  const outage = { from: begin + minute, to: begin + 17 * minute };
  const calls = Array.from({ length: 36 }, (_, index) => begin + index * 30_000);
  const day = await beginDay({ begin, calls, outage }, inboxOf(temporaryDatabase()));
  onTestFinished(() => day.end());
  const { page, complaints } = await open(day.receiver, () => 'all', {});
  const pictures: string[] = [];
  await walkThrough({
    day,
    outage,
    end: outage.to + 30 * minute,
    shown: page,
    rate: 0.25,
    picture: async (name) => void pictures.push(name),
  });

  expect(pictures).toEqual([
    'overview',
    'failures',
    'event',
    'call',
    'handlers-paused',
    'handlers-resumed',
    'replay-preview',
    'replay-progress',
    'replay-stop',
    'failures-mended',
    'audit',
    'overview-mended',
  ]);
  const raised = await day.receiver.alerts.list();
  expect(raised.filter(({ message }) => message.includes(failing))).toEqual([]);
  const { entries } = await day.receiver.audit.list();
  expect(entries.map(({ action }) => action)).toEqual(['replay', 'stop', 'replay', 'resume', 'pause']);
  const [rest, , first] = entries;
  const { handlers } = await day.receiver.handlers.list();
  const { events } = await day.receiver.events.list({ handler: failing, limit: 1_000 });
  const replayed = events.flatMap(({ runs }) => runs).filter(({ replay }) => replay !== undefined);
  expect(replayed.every(({ state }) => state === 'done')).toBe(true);
  expect((first?.runs ?? 0) + (rest?.runs ?? 0)).toBe(replayed.length);
  expect(handlers.find(({ name }) => name === failing)).toMatchObject({ due: 0, dead: 0, pause: undefined });
  expect(complaints).toEqual([]);
});
