/** What every store must do with alerts. */
import { describe, expect, test } from 'vitest';
import type { FoundAlert } from '../../../src/store/alert-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { claimedRun, dead, endOf, eventOf } from '../parts.ts';

const found = (changes: Partial<FoundAlert> = {}): FoundAlert => ({
  name: 'handler_failing',
  subject: 'crm',
  message: '5 have failed.',
  now: 100,
  toldBefore: 0,
  ...changes,
});

const failureOf = (group: string) => ({
  group,
  cause: 'Error',
  place: undefined,
  reason: 'no',
  message: 'no',
  duration: 1,
});

/** Runs this part of the suite. */
export function describeAlerts(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: alerts`, () => {
    test('lets one of all who find an alert tell of it, and of its end', async () => {
      const { alerts } = await opened();
      const raised = await Promise.all(Array.from({ length: 8 }, () => alerts.raise(found())));
      expect(raised.filter((told) => told !== undefined)).toEqual([{ since: 100, isNew: true }]);
      expect(await alerts.raise(found({ now: 200 }))).toBeUndefined();
      const ended = await Promise.all(Array.from({ length: 8 }, () => alerts.end('handler_failing', 'crm')));
      expect(ended.filter((isTold) => isTold)).toHaveLength(1);
      expect(await alerts.list()).toEqual([]);
    });

    test('lets one tell of it again when that was long ago', async () => {
      const { alerts } = await opened();
      await alerts.raise(found());
      expect(await alerts.raise(found({ now: 200, toldBefore: 100 }))).toBeUndefined();
      const again = () => alerts.raise(found({ now: 300, toldBefore: 101 }));
      const told = (await Promise.all([again(), again()])).filter((one) => one !== undefined);
      expect(told).toEqual([{ since: 100, isNew: false }]);
      expect(await alerts.raise(found({ now: 400, toldBefore: 300 }))).toBeUndefined();
    });

    test('keeps what an alert says up to date, and knows those of one name by their subjects', async () => {
      const { alerts } = await opened();
      await alerts.raise(found());
      await alerts.raise(found({ subject: 'board', now: 150 }));
      await alerts.raise(found({ name: 'drift', subject: '', now: 160 }));
      await alerts.raise(found({ message: '7 have failed.', now: 200 }));
      expect(await alerts.list()).toEqual([
        { name: 'drift', subject: '', since: 160, message: '5 have failed.' },
        { name: 'handler_failing', subject: 'board', since: 150, message: '5 have failed.' },
        { name: 'handler_failing', subject: 'crm', since: 100, message: '7 have failed.' },
      ]);
      await alerts.end('handler_failing', 'board');
      expect((await alerts.list()).map(({ subject }) => subject)).toEqual(['', 'crm']);
    });

    test('has an alert told again that nobody could be told of, and its end then by nobody', async () => {
      const { alerts } = await opened();
      await alerts.raise(found());
      await alerts.untold('handler_failing', 'crm');
      expect(await alerts.raise(found({ now: 200, toldBefore: 1 }))).toEqual({ since: 100, isNew: true });
      await alerts.untold('handler_failing', 'crm');
      expect(await alerts.end('handler_failing', 'crm')).toBe(false);
    });

    test('counts dead letters up to a limit, without those of groups that are muted', async () => {
      const store = await opened();
      expect(await store.alerts.deadRuns(10)).toBe(0);
      for (const traceId of ['a', 'b', 'c'])
        await store.settle(
          await claimedRun(store, eventOf(traceId)),
          endOf(dead, { failure: failureOf('g') }),
        );
      await store.settle(await claimedRun(store, eventOf('d')), endOf(dead, { failure: failureOf('h') }));
      expect(await store.alerts.deadRuns(10)).toBe(4);
      expect(await store.alerts.deadRuns(2)).toBe(2);
      expect(await store.failures.mute('g', 7)).toBe(true);
      expect(await store.failures.mute('g', 8)).toBe(false);
      expect(await store.alerts.deadRuns(10)).toBe(1);
      expect(await store.failures.named(['g', 'h', 'i'])).toEqual(
        expect.arrayContaining([
          { id: 'g', handler: 'handler', cause: 'Error', isMuted: true },
          { id: 'h', handler: 'handler', cause: 'Error', isMuted: false },
        ]),
      );
      expect(await store.failures.groups({ handler: undefined, limit: 9 })).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ id: 'g', mutedAt: 7 }),
          expect.objectContaining({ id: 'h', mutedAt: undefined }),
        ]),
      );
      expect(await store.failures.unmute('g')).toBe(true);
      expect(await store.failures.unmute('g')).toBe(false);
      expect(await store.alerts.deadRuns(10)).toBe(4);
    });
  });
}
