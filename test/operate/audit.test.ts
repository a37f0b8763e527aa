import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { ConfigError } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const year = 366 * 86_400_000;

describe('the audit list', () => {
  test(
    'says who did what, when and why, latest first, page by page, over a restart',
    { tags: 'long' },
    async () => {
      const clock = new ManualClock();
      const database = temporaryDatabase();
      const register = (r: { on: typeof receiver.on }) => r.on('*', { name: 'crm' }, () => {});
      const { receiver, logs } = await started({ clock, database }, (r) => register(r));
      await deliver(receiver, bodyOf({ traceId: 'a' }));
      await logs.until('run_done');
      await receiver.handlers.pause('crm', { by: 'ann', reason: 'it moves' });
      await receiver.handlers.resume('crm', { by: 'bob' });
      await receiver.events.replay({ traceId: 'a' }, { by: 'ann', dryRun: true });
      await receiver.events.replay({ traceId: 'a' }, { by: 'ann' });
      const at = new Date(clock.now());
      const expected = [
        { action: 'replay', by: 'ann', reason: undefined, what: '{"traceId":"a"}', events: 1, runs: 1, at },
        { action: 'resume', by: 'bob', what: 'crm', events: 0, runs: 0, at },
        { action: 'pause', by: 'ann', reason: 'it moves', what: 'crm', finishedAt: at },
      ];
      expect((await receiver.audit.list()).entries).toMatchObject(expected);
      const first = await receiver.audit.list({ limit: 2 });
      expect(first.entries).toMatchObject(expected.slice(0, 2));
      const { entries, cursor } = await receiver.audit.list({ limit: 2, cursor: first.cursor });
      expect(entries).toMatchObject(expected.slice(2));
      expect(cursor).toBeUndefined();
      await clock.runUntil(receiver.stop({ drain: 0 }));
      const again = await started({ clock, database }, (r) => register(r));
      expect((await again.receiver.audit.list({ since: at })).entries).toMatchObject(expected);
      expect((await again.receiver.audit.list({ until: at })).entries).toEqual([]);
    },
  );

  test('keeps nothing for more than a year', async () => {
    const clock = new ManualClock();
    const { receiver } = await started({ clock }, (r) => r.on('*', { name: 'crm' }, () => {}));
    await receiver.handlers.pause('crm');
    clock.advance(year - 1);
    await receiver.handlers.resume('crm');
    clock.advance(2);
    await receiver.handlers.pause('crm');
    const { entries } = await receiver.audit.list();
    expect(entries.map(({ action, id }) => [action, id])).toEqual([
      ['pause', 3],
      ['resume', 2],
    ]);
  });

  // A machine that wakes up years ahead, until its time server corrects it.
  test('loses nothing to a clock that is set forward by mistake', async () => {
    const clock = new ManualClock();
    const { receiver } = await started({ clock }, (r) => r.on('*', { name: 'crm' }, () => {}));
    await receiver.handlers.pause('crm');
    clock.setWallClock(2 * year);
    await receiver.handlers.resume('crm');
    await receiver.events.replay({ since: 0 });
    const { entries } = await receiver.audit.list();
    expect(entries.map(({ action }) => action)).toEqual(['replay', 'resume', 'pause']);
  });

  test('refuses what is no reason, before anything is done', async () => {
    const { receiver } = await started({}, (r) => r.on('*', { name: 'crm' }, () => {}));
    await expect(receiver.handlers.pause('crm', { reason: 7 } as never)).rejects.toThrow(ConfigError);
    await expect(receiver.quarantine.discard(1, { who: 'ann' } as never)).rejects.toThrow(ConfigError);
    await expect(receiver.erase({ callId: 'a', by: 7 } as never)).rejects.toThrow(ConfigError);
    expect((await receiver.audit.list()).entries).toEqual([]);
  });
});
