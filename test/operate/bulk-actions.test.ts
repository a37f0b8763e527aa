import { describe, expect, test, vi } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { storeIn } from '../support/inbox.ts';
import { type Receiver, type ReceiverOptions, type ReplayOptions, RingbackError } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** A receiver with a handler that gives up each event the first time. */
function giving(options: ReceiverOptions = {}) {
  const replayed: string[] = [];
  const start = (more: ReceiverOptions = {}) =>
    started({ retry: { attempts: 1 }, ...options, ...more }, (r) =>
      r.on('*', { name: 'crm' }, ({ traceId }, { replay }) => {
        if (!replay) throw new Error('the CRM is down');
        replayed.push(traceId);
      }),
    );
  return { replayed, start };
}

async function deliverMany(receiver: Receiver, clock: ManualClock, count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const body = bodyOf({ traceId: `t-${index}` });
    await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  }
}

/** Begins a slow replay of so many dead letters, and stops the receiver when the first of them has been run. */
async function leaveReplay(
  receiver: Receiver,
  clock: ManualClock,
  {
    count,
    options,
    replayed,
  }: { readonly count: number; readonly options: ReplayOptions; readonly replayed: readonly string[] },
): Promise<void> {
  await deliverMany(receiver, clock, count);
  await expect.poll(async () => (await receiver.counts()).runs.dead).toBe(count);
  const left = expect(receiver.events.replay({ state: 'dead' }, options)).rejects.toThrow(RingbackError);
  await expect.poll(() => replayed.length).toBe(1);
  await receiver.stop();
  await left;
}

const first = async (receiver: Receiver) => (await receiver.audit.list()).entries.at(-1);

describe('a long replay', () => {
  test('shows its progress, and continues after a restart', async () => {
    const clock = new ManualClock();
    const { replayed, start } = giving({ clock, database: temporaryDatabase() });
    const before = await start();
    await deliverMany(before.receiver, clock, 5);
    await before.logs.until('run_dead', 5);
    const replaying = before.receiver.events.replay({ state: 'dead' }, { rate: 1, by: 'ann' });
    const left = expect(replaying).rejects.toThrow(/receiver was stopped before/);
    await before.logs.until('run_done');
    await clock.timer(1_000);
    clock.advance(1_000);
    await before.logs.until('run_done', 2);
    const progress = { state: 'running', share: 0.4, handlers: { crm: 2 } };
    const entry = { id: 1, action: 'replay', by: 'ann', events: 2, runs: 2, finishedAt: undefined };
    expect(await before.receiver.audit.running()).toMatchObject([{ ...entry, progress }]);
    await before.receiver.stop();
    await left;
    expect(replayed).toEqual(['t-0', 't-1']);

    const { receiver, logs } = await start();
    for (const count of [1, 2, 3]) {
      await logs.until('run_done', count);
      if (count === 3) break;
      await clock.timer(1_000);
      clock.advance(1_000);
    }
    await logs.until('events_replayed');
    expect(replayed).toEqual(['t-0', 't-1', 't-2', 't-3', 't-4']);
    expect(await receiver.audit.running()).toEqual([]);
    expect(await first(receiver)).toMatchObject({
      runs: 5,
      progress: { state: 'done', share: 1, handlers: { crm: 5 } },
    });
  });

  test('counts its progress from the first event that matches', async () => {
    const clock = new ManualClock();
    const { start, replayed } = giving({ clock, database: temporaryDatabase() });
    const { receiver } = await start();
    await deliverMany(receiver, clock, 8);
    await expect.poll(async () => (await receiver.counts()).runs.dead).toBe(8);
    for (const index of [0, 1, 2, 3])
      await receiver.events.dismiss({ traceId: `t-${index}`, state: 'dead' }, { reason: 'known' });
    const replaying = receiver.events.replay({ state: 'dead' }, { rate: 0.01 });
    await expect.poll(() => replayed.length).toBe(1);
    const [running] = await receiver.audit.running();
    expect(running?.progress?.share).toBe(0.25);
    await receiver.events.stop(running?.id ?? 0);
    await clock.runUntil(replaying);
    expect(replayed).toEqual(['t-4']);
  });

  test('is stopped from another process, and keeps what it has done', async () => {
    const clock = new ManualClock();
    const { replayed, start } = giving({ clock, database: temporaryDatabase() });
    const [one, other] = [await start(), await start()];
    await deliverMany(one.receiver, clock, 3);
    await expect.poll(async () => (await one.receiver.counts()).runs.dead).toBe(3);
    const replaying = one.receiver.events.replay({ state: 'dead' }, { rate: 0.01 });
    await expect.poll(() => replayed.length).toBe(1);
    const [running] = await other.receiver.audit.running();
    expect(await other.receiver.events.stop(running?.id ?? 0, { by: 'ann', reason: 'enough' })).toBe(true);
    expect(await other.receiver.events.stop(running?.id ?? 0)).toBe(false);
    expect(await other.receiver.events.stop(700)).toBe(false);
    // Long before its next step.
    await clock.timer(2_000);
    clock.advance(2_000);
    expect(await replaying).toMatchObject({ id: running?.id, state: 'stopped', runs: 1 });
    expect((await one.receiver.counts()).runs.dead).toBe(2);
    expect(replayed).toEqual(['t-0']);
    const { entries } = await one.receiver.audit.list();
    expect(entries.map(({ action }) => action)).toEqual(['stop', 'stop', 'replay']);
    expect(entries[1]).toMatchObject({ what: `replay ${running?.id}`, by: 'ann', reason: 'enough' });
  });

  test('continues in another process when its own has ended', async () => {
    const clock = new ManualClock();
    const { replayed, start } = giving({ clock, database: temporaryDatabase() });
    const [one, other] = [await start(), await start()];
    await leaveReplay(one.receiver, clock, { count: 3, options: { rate: 1 }, replayed });
    await clock.runUntil(expect.poll(() => replayed.length).toBe(3));
    expect(replayed).toEqual(['t-0', 't-1', 't-2']);
    await clock.runUntil(other.logs.until('events_replayed'));
    expect(await first(other.receiver)).toMatchObject({ runs: 3, progress: { state: 'done' } });
  });

  test('is left to processes that have its handler', async () => {
    const database = temporaryDatabase();
    const clock = new ManualClock();
    const { replayed, start } = giving({ clock, database });
    const before = await start();
    await leaveReplay(before.receiver, clock, { count: 2, options: { rate: 0.01, only: 'crm' }, replayed });
    const without = await started({ database, clock }, (r) => r.on('*', { name: 'mail' }, () => {}));
    expect(await without.receiver.audit.running()).toHaveLength(1);
    const { receiver, logs } = await start();
    await logs.until('run_done');
    expect(replayed).toEqual(['t-0', 't-1']);
    await logs.until('events_replayed');
    expect(await receiver.audit.running()).toEqual([]);
  });

  test('is stopped when an erasure has cleared its filter', async () => {
    const database = temporaryDatabase();
    const clock = new ManualClock();
    const { replayed, start } = giving({ clock, database });
    const before = await start();
    await leaveReplay(before.receiver, clock, { count: 2, options: { rate: 0.01 }, replayed });
    const store = storeIn(database, clock);
    await store.open();
    await store.retention.eraseAudit([1]);
    await store.close();
    const { receiver } = await start();
    await expect.poll(async () => (await receiver.audit.running()).length).toBe(0);
    expect(await first(receiver)).toMatchObject({ what: '', runs: 1, progress: { state: 'stopped' } });
  });
});

test('a replay reads its events once', { tags: 'long' }, async () => {
  const clock = new ManualClock();
  const store = storeIn(temporaryDatabase(), clock);
  const { replayed, start } = giving({ clock, database: store });
  const { receiver } = await start();
  await deliverMany(receiver, clock, 3);
  await expect.poll(async () => (await receiver.counts()).runs.dead).toBe(3);
  const read = vi.spyOn(store.events, 'stretch');
  await receiver.events.replay({ state: 'dead' });
  await expect.poll(() => replayed.length).toBe(3);
  expect(read).toHaveBeenCalledTimes(1);
});

test(
  'a dismissal of open runs does not continue once their handler is registered again',
  { tags: 'long' },
  async () => {
    const database = temporaryDatabase();
    const clock = new ManualClock();
    const handled: string[] = [];
    const waiting = { clock, database, retry: { attempts: 2, base: '1h', factor: 1, cap: '1h' } } as const;
    const withHandler = () =>
      started(waiting, (r) =>
        r.on('*', { name: 'old' }, ({ traceId }, { attempt }) => {
          if (attempt === 1) throw new Error('the CRM is down');
          handled.push(traceId);
        }),
      );
    const before = await withHandler();
    await deliverMany(before.receiver, clock, 150);
    await before.logs.until('run_retry', 150);
    await before.receiver.stop();

    const store = storeIn(database, clock);
    const without = await started({ ...waiting, database: store });
    const dismiss = store.events.dismiss.bind(store.events);
    vi.spyOn(store.events, 'dismiss')
      .mockImplementationOnce(dismiss)
      .mockRejectedValueOnce(new Error('disk full'));
    const { receiver: remover } = without;
    await expect(remover.events.dismiss({ handler: 'old' }, { reason: 'gone' })).rejects.toThrow('disk full');
    await remover.stop();

    const { receiver } = await withHandler();
    clock.advance(3_600_000);
    await expect.poll(() => handled.length).toBe(50);
    expect(await receiver.audit.running()).toMatchObject([{ action: 'dismiss', runs: 100 }]);
  },
);

test('a dismissal that the inbox could not write continues at the next start', { tags: 'long' }, async () => {
  const database = temporaryDatabase();
  const clock = new ManualClock();
  const { start } = giving({ clock, database });
  const store = storeIn(database, clock);
  const before = await start({ database: store });
  await deliverMany(before.receiver, clock, 150);
  await before.logs.until('run_dead', 150);
  const dismiss = store.events.dismiss.bind(store.events);
  vi.spyOn(store.events, 'dismiss')
    .mockImplementationOnce(dismiss)
    .mockRejectedValueOnce(new Error('disk full'));
  await expect(
    before.receiver.events.dismiss({ state: 'dead' }, { by: 'ann', reason: 'by hand' }),
  ).rejects.toThrow('disk full');
  expect(before.logs.of('bulk_action_failed')).toMatchObject([{ entry: 1 }]);
  expect((await before.receiver.counts()).runs.dead).toBe(50);
  await before.receiver.stop();

  const { receiver, logs } = await start();
  await logs.until('runs_dismissed');
  expect((await receiver.counts()).runs.dead).toBe(0);
  const [run] = (await receiver.events.get('t-149'))?.runs ?? [];
  expect(run?.reason).toContain('dismissed by ann: by hand');
  expect(await first(receiver)).toMatchObject({ action: 'dismiss', runs: 150, progress: { state: 'done' } });
});

test('a replay that ends while its receiver stops is done, and not left', async () => {
  const database = temporaryDatabase();
  const clock = new ManualClock();
  const store = storeIn(database, clock);
  const { start } = giving({ clock, database: store });
  const { receiver } = await start();
  await deliverMany(receiver, clock, 1);
  await expect.poll(async () => (await receiver.counts()).runs.dead).toBe(1);
  const requeue = store.events.requeue.bind(store.events);
  const stopped = Promise.withResolvers<void>();
  vi.spyOn(store.events, 'requeue').mockImplementationOnce((step) => {
    stopped.resolve(receiver.stop());
    return requeue(step);
  });
  const replaying = receiver.events.replay({ state: 'dead' });
  await stopped.promise;
  expect(await replaying).toMatchObject({ runs: 1, state: 'done' });
});
