import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { isOnPostgres, rowsIn } from '../support/inbox.ts';
import { createReceiver, Discard, type Receiver, type ReceiverOptions } from '../support/public.ts';
import { made, started, stopped } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const hour = 3_600_000;
const day = 24 * hour;

/** A receiver with a manual clock, and functions to deliver to it and let it clean. */
async function keeping(options: ReceiverOptions = {}, register?: (receiver: Receiver) => unknown) {
  const { clock = new ManualClock() } = options as { readonly clock?: ManualClock };
  const { receiver, logs } = await started({ ...options, clock }, register);
  const take = (body: string, secrets?: string) =>
    deliver(receiver, body, signedHeaders(body, { timestamp: clock.now(), ...(secrets && { secrets }) }));
  /** Moves time on by a second. The inbox is asked in between, so that time isn't far ahead of one that answers slowly. */
  const step = async () => {
    clock.advance(1_000);
    await Promise.all([receiver.counts(), turn()]);
  };
  /** Moves time on until there have been `count` cleanings. */
  const cleaned = async (count = 1) => {
    while (logs.of('retention_cleaned').length < count) await step();
    return logs.of('retention_cleaned').at(-1);
  };
  /** Moves time on for long enough that a whole cleaning takes place: they are a minute apart at most. */
  const passed = async () => {
    for (let steps = 0; steps < 80; steps += 1) await step();
  };
  return { receiver, logs, clock, take, step, cleaned, passed };
}

describe('retention', () => {
  test(
    'removes done events after their time, and a late copy is a duplicate all the same',
    { tags: 'long' },
    async () => {
      const { receiver, logs, clock, take, cleaned, passed } = await keeping({ retention: { done: '2d' } });
      const body = bodyOf({ traceId: 'trace-1', callId: 'call-1' });
      await take(body);
      await logs.until('event_unhandled');
      clock.advance(2 * day - hour);
      await passed();
      expect(logs.of('retention_cleaned')).toEqual([]);
      clock.advance(hour);
      expect(await cleaned()).toMatchObject({ events: 1, runs: 0, quarantined: 0, traceIds: 0 });
      expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 0 });
      expect(await receiver.calls.get('call-1')).toBeUndefined();
      expect((await take(body)).json).toEqual({ status: 'duplicate', traceId: 'trace-1' });
      expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 0 });
    },
  );

  test(
    'removes nothing by a clock that is set, until an hour has shown that it was meant',
    { tags: 'long' },
    async () => {
      const { logs, clock, take, cleaned, passed } = await keeping({ retention: { done: '30d' } });
      await take(bodyOf({ traceId: 'trace-1' }));
      await logs.until('event_unhandled');
      for (const by of [400 * day, -400 * day, 400 * day]) {
        clock.setWallClock(by);
        clock.advance(hour - 200_000);
        await passed();
        expect(logs.of('retention_cleaned')).toEqual([]);
      }
      clock.advance(hour);
      expect(await cleaned()).toMatchObject({ events: 1 });
    },
  );

  test(
    'keeps dead letters for their own time, counted from when they were given up',
    { tags: 'long' },
    async () => {
      const { receiver, logs, clock, take, cleaned, passed } = await keeping(
        { retention: { done: '1d', dead: '3d' } },
        (r) =>
          r.on('*', { retry: { attempts: 2 } }, (_event, { attempt }) => {
            if (attempt === 1) throw new Error('not yet');
            throw new Discard('never');
          }),
      );
      await take(bodyOf());
      await logs.until('run_retry');
      clock.advance(2 * day);
      await logs.until('run_dead');
      clock.advance(2 * day);
      await passed();
      expect((await receiver.counts()).runs.dead).toBe(1);
      clock.advance(day);
      expect(await cleaned()).toMatchObject({ events: 1, runs: 1 });
      expect((await receiver.counts()).runs.dead).toBe(0);
    },
  );

  test(
    'keeps dismissed runs as long as done ones, counted from the dismissal',
    { tags: 'long' },
    async () => {
      const { receiver, logs, clock, take, cleaned, passed } = await keeping(
        { retention: { done: '2d', dead: '90d' } },
        (r) =>
          r.on('*', { name: 'crm-sync' }, () => {
            throw new Discard('never');
          }),
      );
      await take(bodyOf());
      await logs.until('run_dead');
      clock.advance(5 * day);
      await receiver.events.dismiss({ state: 'dead' }, { reason: 'entered by hand' });
      clock.advance(day);
      await passed();
      expect(logs.of('retention_cleaned')).toEqual([]);
      clock.advance(day);
      expect(await cleaned()).toMatchObject({ events: 1, runs: 1 });
      expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 0 });
    },
  );

  test('removes what failures have said with their last run, or later if the inbox is lost just then', async () => {
    const file = temporaryDatabase();
    const clock = new ManualClock();
    let isLost = false;
    const lost = () => Promise.reject(new Error('The connection is lost.'));
    const database = storeAround(file, clock, (name) =>
      isLost && name === 'retention.clearUnusedGroups' ? lost : undefined,
    );
    const { receiver, logs, take, step, passed } = await keeping(
      { clock, database, retention: { dead: '1d' } },
      (r) => r.on('*', () => Promise.reject(new Discard('no customer Anna'))),
    );
    const messages = () => rowsIn(file, 'select message from failure_groups');
    // The first cleaning has looked for what an earlier process may have left.
    await passed();
    await take(bodyOf());
    await logs.until('run_dead');
    isLost = true;
    clock.advance(2 * day);
    while ((await receiver.counts()).runs.dead > 0) await step();
    expect(await messages()).toEqual([{ message: 'no customer Anna' }]);
    isLost = false;
    const silent = [{ message: '' }];
    while (!isDeepStrictEqual(await messages(), silent)) await step();
  });

  test('removes what failures have said if an earlier process has lost the inbox just then', async () => {
    const file = temporaryDatabase();
    const clock = new ManualClock();
    const database = storeAround(file, clock, (name) =>
      name === 'retention.clearUnusedGroups' ? () => Promise.reject(new Error('lost')) : undefined,
    );
    const options = { clock, retention: { dead: '1d' } } as const;
    const before = await keeping({ ...options, database }, (r) =>
      r.on('*', () => Promise.reject(new Discard('no customer Anna'))),
    );
    await before.take(bodyOf());
    await before.logs.until('run_dead');
    clock.advance(2 * day);
    while ((await before.receiver.counts()).runs.dead > 0) await before.step();
    await stopped(before.receiver, clock);
    const next = await keeping({ ...options, database: file });
    const messages = () => rowsIn(file, 'select message from failure_groups');
    while (!isDeepStrictEqual(await messages(), [{ message: '' }])) await next.step();
  });

  test('never removes an event that waits to be tried again', { tags: 'long' }, async () => {
    const { receiver, logs, clock, take, passed } = await keeping({ retention: { done: 0, dead: 0 } }, (r) =>
      r.on('*', { retry: { base: '400d', cap: '400d' } }, () => Promise.reject(new Error('not yet'))),
    );
    await take(bodyOf());
    await logs.until('run_retry');
    clock.advance(hour);
    await passed();
    expect((await receiver.counts()).events.open).toBe(1);
  });

  test('empties the quarantine of both kinds after its time', async () => {
    const { receiver, clock, take, cleaned } = await keeping({ retention: { quarantine: '7d' } });
    await take('not JSON');
    await take(bodyOf(), otherSecret);
    expect((await receiver.counts()).quarantine).toMatchObject({ notAuthentic: 1, unreadable: 1 });
    clock.advance(7 * day);
    expect(await cleaned()).toMatchObject({ events: 0, quarantined: 2 });
    expect((await receiver.counts()).quarantine).toMatchObject({ notAuthentic: 0, unreadable: 0 });
  });

  test('forgets the trace ids of removed events after their own time', { tags: 'long' }, async () => {
    const { logs, clock, take, cleaned } = await keeping({ retention: { done: '1d', traceIds: '5d' } });
    const body = bodyOf();
    await take(body);
    await logs.until('event_unhandled');
    clock.advance(day);
    await cleaned();
    clock.advance(4 * day);
    expect((await take(body)).json.status).toBe('duplicate');
    clock.advance(day);
    expect(await cleaned(2)).toMatchObject({ events: 0, traceIds: 1 });
    expect((await take(body)).json.status).toBe('accepted');
  });

  test('computes the record of a call from the remaining events', { tags: 'long' }, async () => {
    const { receiver, logs, clock, take, cleaned } = await keeping({ retention: { done: '10d' } });
    await take(bodyOf({ eventName: 'CallHandler.CallStarted', callId: 'call-1' }));
    clock.advance(5 * day);
    await take(bodyOf({ eventName: 'CallHandler.CallEnded', callId: 'call-1' }));
    await logs.until('event_unhandled', 2);
    expect((await receiver.calls.get('call-1'))?.events).toHaveLength(2);
    clock.advance(5 * day);
    await cleaned();
    const call = await receiver.calls.get('call-1');
    expect(call?.events.map((event) => event.name)).toEqual(['CallHandler.CallEnded']);
    expect((await receiver.calls.list({ status: 'ended' })).calls).toHaveLength(1);
    clock.advance(5 * day);
    await cleaned(2);
    expect((await receiver.calls.list()).calls).toEqual([]);
  });

  test('forgets what the joins of a call remember with its last event', async () => {
    const database = temporaryDatabase();
    const { logs, clock, take, cleaned } = await keeping({ database, retention: { done: '1d' } }, (r) =>
      r.onCall({ name: 'save', events: ['CallHandler.CallEnded'], within: '2m' }, () => {}),
    );
    await take(bodyOf());
    await logs.until('run_done');
    const joins = () => rowsIn(database, 'select * from joins');
    expect(await joins()).toHaveLength(1);
    clock.advance(day);
    await cleaned();
    expect(await joins()).toEqual([]);
  });

  test('works in small steps, between which deliveries are recorded', { tags: 'long' }, async () => {
    const { receiver, clock, take, cleaned } = await keeping({ retention: { done: '1d' } });
    for (let count = 0; count < 450; count += 1) await take(bodyOf());
    const done = async () => (await receiver.counts()).events.done;
    await expect.poll(done).toBe(450);
    clock.advance(day);
    const left: number[] = [];
    for (let before = 450; before > 3; before = left.at(-1) ?? 0) {
      // A step plans the next one 200 ms later. Time stands still from then on, for the next would begin while this is looked at.
      if (left.length > 0) {
        await clock.timer(200);
        clock.advance(200);
      }
      while ((await done()) === before) {
        if (left.length === 0 && !clock.hasTimer(200)) clock.advance(1_000);
        await turn();
      }
      const now = await done();
      expect((await take(bodyOf())).json.status).toBe('accepted');
      while ((await done()) < now + 1) await turn();
      left.push(now + 1);
    }
    expect(left).toEqual([251, 52, 3]);
    expect(await cleaned()).toMatchObject({ events: 450 });
  });

  test.skipIf(isOnPostgres)('writes nothing where there is nothing to remove', async () => {
    const database = temporaryDatabase();
    const { receiver, clock, take, logs, passed } = await keeping({ database }, (r) => r.on('*', () => {}));
    await take(bodyOf());
    await logs.until('run_done');
    await passed();
    // That it was taken is written with its minute.
    await expect.poll(() => receiver.history.list()).toHaveLength(1);
    // A connection's `data_version` changes when another connection writes.
    const other = createReceiver({
      headers: { 'x-key': 'key' },
      database,
      clock,
      logger: { level: 'silent' },
    });
    const version = () => other.database.prepare('pragma data_version').get();
    const before = version();
    await passed();
    expect(version()).toEqual(before);
    await take(bodyOf());
    expect(version()).not.toEqual(before);
    await other.stop();
  });

  test('says what an option should be', () => {
    expect(() => made({ retention: { done: 'forever' as never } })).toThrow(
      `The option retention.done should be milliseconds or a duration such as '90s', '5m', '30d', but is "forever".`,
    );
    expect(() => made({ retention: { quarantined: '7d' } as never })).toThrow('Did you mean quarantine?');
  });
});
