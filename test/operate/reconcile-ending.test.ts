/** What ends a reconciliation, and what doesn't. */
import { describe, expect, test } from 'vitest';
import type { ReconcileOptions } from '../support/public.ts';
import { endedCall, readersOf, receiving } from './reconcile-support.ts';

const never = new Promise<never>(() => {});
const reason = new Error('enough');

describe('receiver.reconcile', () => {
  test('a signal ends it, also while nothing comes from `ids`', async () => {
    const { receiver } = await receiving();
    const { readers } = readersOf({});
    const ending = new AbortController();
    const silent = { [Symbol.asyncIterator]: () => ({ next: () => never }) };
    const ended = receiver.reconcile({ ...readers, ids: () => silent, signal: ending.signal });
    ending.abort(reason);
    await expect(ended).rejects.toBe(reason);
  });

  test('a stop ends it, and it is refused before the start', async () => {
    const { receiver, clock } = await receiving();
    const { readers } = readersOf({});
    const reading = Promise.withResolvers<void>();
    const calls: ReconcileOptions['calls'] = {
      get: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          reading.resolve();
        }),
    };
    const ended = receiver.reconcile({ ...readers, calls, ids: () => ['call-1'] });
    const refused = expect(ended).rejects.toMatchObject({ code: 'receiver_not_started' });
    await reading.promise;
    await clock.runUntil(receiver.stop({ drain: 0 }));
    await refused;
    await expect(receiver.reconcile(readers)).rejects.toMatchObject({ code: 'receiver_not_started' });
  });

  const { readers } = readersOf({ 'call-1': endedCall });
  test.each<[string, (asked: () => void) => Partial<ReconcileOptions>]>([
    ['ids', (asked) => ({ ids: () => (asked(), never) })],
    ['calls', (asked) => ({ calls: { get: () => (asked(), never) } })],
    ['analyses', (asked) => ({ analyses: { get: () => (asked(), never) } })],
  ])('a signal and a stop end it also while %s never answers', async (_, replaced) => {
    for (const by of ['signal', 'stop']) {
      const { receiver, clock } = await receiving();
      const asked = Promise.withResolvers<void>();
      const ending = new AbortController();
      const options = { ...readers, ...replaced(asked.resolve), signal: ending.signal };
      const ended = receiver.reconcile(options);
      const expected = by === 'stop' ? { code: 'receiver_not_started' } : reason;
      const refused = expect(ended).rejects.toMatchObject(expected);
      await asked.promise;
      if (by === 'stop') await clock.runUntil(receiver.stop({ drain: 0 }));
      else ending.abort(reason);
      await refused;
    }
  });

  test('what `ids` throws ends it also while a call is never answered', async () => {
    const { receiver } = await receiving();
    const asked = Promise.withResolvers<void>();
    const calls = { get: () => (asked.resolve(), never) };
    async function* ids() {
      yield 'call-1';
      await asked.promise;
      throw reason;
    }
    await expect(receiver.reconcile({ ...readers, calls, ids })).rejects.toBe(reason);
  });

  test('with a signal that is aborted already, nothing is asked for', async () => {
    const { receiver } = await receiving();
    const asked: string[] = [];
    const ids = () => [String(asked.push('ids'))];
    await expect(receiver.reconcile({ ...readers, ids, signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    expect(asked).toEqual([]);
  });

  test('checking complete calls does not block the event loop', async () => {
    const { receiver } = await receiving();
    await receiver.reconcile(readers);
    const turns: string[] = [];
    setImmediate(() => turns.push('of the event loop'));
    function* ids() {
      for (let given = 0; given < 1_000 && turns.length === 0; given += 1) yield 'call-1';
      turns.push('ended');
    }
    await receiver.reconcile({ ...readers, ids });
    expect(turns).toEqual(['of the event loop', 'ended']);
  });

  test('an invalid id is counted as failed, and the others are checked', async () => {
    const { receiver, logs } = await receiving();
    const bad = ['', 'x'.repeat(10_000), Number.NaN, null, { callId: ' ' }, {}] as never[];
    const found = await receiver.reconcile({ ...readers, ids: () => [...bad, 'call-1'] });
    expect(found).toMatchObject({ calls: 7, recorded: 3, failed: 6 });
    for (const { error } of found.failures) expect(error).toMatchObject({ code: 'call_id_invalid' });
    const named = found.failures.map(({ callId }) => callId);
    const long = `"${'x'.repeat(100)}…" (10000 characters)`;
    expect(named).toEqual(['""', long, 'NaN', 'null', '" "', 'undefined']);
    expect(logs.of('call_not_reconciled').map(({ callId }) => callId)).toEqual(named);
    expect(String(found.failures[0]?.error)).toContain(
      'ids in reconcile should return call ids (text of 1 to 512 characters), or objects with callId and agentId, but one is "".',
    );
  });
});
