/** What every store must do with alerts. */
import { describe, expect, test } from 'vitest';
import type { FoundAlert } from '../../../src/store/alert-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { claimedRun, dead, endOf, eventOf, handlerOf } from '../parts.ts';

const found = (changes: Partial<FoundAlert> = {}): FoundAlert => ({
  name: 'handler_failing',
  subject: 'crm',
  message: '5 have failed.',
  now: 100,
  wasRaised: false,
  notifies: true,
  sentBefore: 0,
  ...changes,
});

const failureOf = (group: string) => ({
  group,
  cause: 'Error',
  location: undefined,
  reason: 'no',
  message: 'no',
  duration: 1,
});

/** Runs this part of the suite. */
export function describeAlerts(name: string, opened: () => Promise<Store>): void {
  describe(`${name}: alerts`, () => {
    test('lets one of all processes that find an alert send it, and its end', async () => {
      const { alerts } = await opened();
      const raised = await Promise.all(Array.from({ length: 8 }, () => alerts.raise(found())));
      expect(raised.filter((reported) => reported !== undefined)).toEqual([{ since: 100, isNew: true }]);
      expect(await alerts.raise(found({ now: 200 }))).toBeUndefined();
      const ended = await Promise.all(Array.from({ length: 8 }, () => alerts.end('handler_failing', 'crm')));
      expect(ended.filter((one) => one !== undefined)).toEqual([{ isNotified: true }]);
      expect(await alerts.list()).toEqual([]);
    });

    test('does not raise one that was ended since the caller looked', async () => {
      const { alerts } = await opened();
      await alerts.raise(found());
      expect(await alerts.raise(found({ now: 200, wasRaised: true, sentBefore: 101 }))).toBeDefined();
      await alerts.end('handler_failing', 'crm');
      expect(await alerts.raise(found({ now: 300, wasRaised: true }))).toBeUndefined();
      expect(await alerts.list()).toEqual([]);
      expect(await alerts.raise(found({ now: 300 }))).toEqual({ since: 300, isNew: true });
    });

    test('lets one process send it again when that was long ago', async () => {
      const { alerts } = await opened();
      await alerts.raise(found());
      expect(await alerts.raise(found({ now: 200, sentBefore: 100 }))).toBeUndefined();
      const again = () => alerts.raise(found({ now: 300, sentBefore: 101 }));
      const reported = (await Promise.all([again(), again()])).filter((one) => one !== undefined);
      expect(reported).toEqual([{ since: 100, isNew: false }]);
      expect(await alerts.raise(found({ now: 400, sentBefore: 300 }))).toBeUndefined();
    });

    test('lets one process send it again when it was sent by a clock that was far ahead', async () => {
      const { alerts } = await opened();
      const yearAhead = 365 * 86_400_000;
      await alerts.raise(found({ now: yearAhead, sentBefore: yearAhead - 100 }));
      expect(await alerts.raise(found({ now: 200, sentBefore: 100 }))).toMatchObject({ isNew: false });
      expect(await alerts.raise(found({ now: 250, sentBefore: 150 }))).toBeUndefined();
      // That of another process is a moment ahead.
      expect(await alerts.raise(found({ now: 190, sentBefore: 90 }))).toBeUndefined();
      expect(await alerts.raise(found({ now: 301, sentBefore: 201 }))).toBeDefined();
    });

    test('keeps what an alert says up to date, and knows those of one name by their subjects', async () => {
      const { alerts } = await opened();
      await alerts.raise(found());
      await alerts.raise(found({ subject: 'board', now: 150 }));
      await alerts.raise(found({ name: 'drift', subject: '', now: 160 }));
      await alerts.raise(found({ message: '7 have failed.', now: 200 }));
      const other = { message: '5 have failed.', isNotified: true };
      expect(await alerts.list()).toEqual([
        { ...other, name: 'drift', subject: '', since: 160, foundAt: 160 },
        { ...other, name: 'handler_failing', subject: 'board', since: 150, foundAt: 150 },
        {
          name: 'handler_failing',
          subject: 'crm',
          since: 100,
          message: '7 have failed.',
          foundAt: 200,
          isNotified: true,
        },
      ]);
      await alerts.end('handler_failing', 'board');
      expect((await alerts.list()).map(({ subject }) => subject)).toEqual(['', 'crm']);
    });

    test('has an alert that was only logged sent by a process with notify, and not its end before', async () => {
      const { alerts } = await opened();
      const [logged, toNotify] = [{ notifies: false }, { since: 100, isNew: true }];
      expect(await alerts.raise(found(logged))).toEqual(toNotify);
      expect(await alerts.raise(found({ ...logged, now: 200 }))).toBeUndefined();
      expect(await alerts.list()).toMatchObject([{ isNotified: false, foundAt: 200 }]);
      expect(await alerts.raise(found({ now: 300, sentBefore: 1 }))).toEqual(toNotify);
      expect(await alerts.raise(found({ now: 400, sentBefore: 1 }))).toBeUndefined();
      expect(await alerts.list()).toMatchObject([{ isNotified: true }]);
      expect(await alerts.raise(found({ ...logged, now: 500, sentBefore: 300 }))).toBeUndefined();
      expect(await alerts.raise(found({ ...logged, now: 500, sentBefore: 301 }))).toMatchObject({
        isNew: false,
      });
      expect(await alerts.raise(found({ now: 500, sentBefore: 301 }))).toMatchObject({ isNew: false });
      await alerts.end('handler_failing', 'crm');
      await alerts.raise(found(logged));
      expect(await alerts.end('handler_failing', 'crm')).toEqual({ isNotified: false });
    });

    test('keeps the names of handlers as they are registered', async () => {
      const store = await opened();
      const handler = handlerOf('odd "ö" \\');
      await store.settle(
        await claimedRun(store, eventOf('a'), handler),
        endOf(dead, { failure: failureOf('g') }),
      );
      expect(await store.alerts.deadRuns(10)).toEqual([{ handler: handler.name, count: 1 }]);
      const named = { subject: handler.name, message: `5 of ${handler.name} have failed.` };
      await store.alerts.raise(found(named));
      expect(await store.alerts.list()).toMatchObject([named]);
    });

    test('has an alert that could not be sent sent again, and its end not before', async () => {
      const { alerts } = await opened();
      await alerts.raise(found());
      await alerts.markUnsent('handler_failing', 'crm', false);
      expect(await alerts.raise(found({ now: 200, sentBefore: 2 }))).toEqual({ since: 100, isNew: true });
      await alerts.markUnsent('handler_failing', 'crm', false);
      expect(await alerts.end('handler_failing', 'crm')).toEqual({ isNotified: false });
      expect(await alerts.end('handler_failing', 'crm')).toBeUndefined();
    });

    test('has a reminder that could not be sent sent again, and its end in any case', async () => {
      const { alerts } = await opened();
      await alerts.raise(found());
      await alerts.markUnsent('handler_failing', 'crm', true);
      expect(await alerts.raise(found({ now: 200, sentBefore: 2 }))).toEqual({ since: 100, isNew: false });
      await alerts.markUnsent('handler_failing', 'crm', true);
      expect(await alerts.end('handler_failing', 'crm')).toEqual({ isNotified: true });
    });

    test('counts dead letters up to a limit, without those of groups that are muted', async () => {
      const store = await opened();
      expect(await store.alerts.deadRuns(10)).toEqual([]);
      for (const traceId of ['a', 'b', 'c'])
        await store.settle(
          await claimedRun(store, eventOf(traceId)),
          endOf(dead, { failure: failureOf('g') }),
        );
      await store.settle(await claimedRun(store, eventOf('d')), endOf(dead, { failure: failureOf('h') }));
      expect(await store.alerts.deadRuns(10)).toEqual([{ handler: 'handler', count: 4 }]);
      expect(await store.alerts.deadRuns(2)).toEqual([{ handler: 'handler', count: 2 }]);
      expect(await store.failures.mute('g', 7)).toBe(true);
      expect(await store.failures.mute('g', 8)).toBe(false);
      expect(await store.alerts.deadRuns(10)).toEqual([{ handler: 'handler', count: 1 }]);
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
      expect(await store.alerts.deadRuns(10)).toEqual([{ handler: 'handler', count: 4 }]);
    });
  });
}
