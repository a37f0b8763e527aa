import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import type { Receiver, ReceiverOptions } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const [minute, hour] = [60_000, 3_600_000];

/** A receiver whose handler fails for bad events, and takes 7 ms, or a second for slow ones. */
async function working(clock: ManualClock, database = temporaryDatabase()) {
  const { receiver, logs } = await started({ clock, database, random: () => 0.5 }, (r) =>
    r.on('*', { name: 'crm', retry: { attempts: 2 } }, ({ traceId }) => {
      clock.advance(traceId.startsWith('slow') ? 1_000 : 7);
      if (traceId.startsWith('bad')) throw new Error('no');
    }),
  );
  const send = (traceId: string, secrets?: string) => {
    const body = bodyOf({ traceId });
    return deliver(
      receiver,
      body,
      signedHeaders(body, { timestamp: clock.now(), ...(secrets && { secrets }) }),
    );
  };
  return { receiver, logs, send, database };
}

/** A receiver whose handler runs one event at a time, and ends with `end`. */
async function blocked(options: ReceiverOptions, end: Promise<void>): Promise<Receiver> {
  const handler = { name: 'crm', concurrency: 1, timeout: '1h' } as const;
  const { receiver } = await started(options, (r) => r.on('*', handler, () => end));
  return receiver;
}

/** Goes a little beyond the end of the present minute. */
async function goToNextMinute(clock: ManualClock): Promise<void> {
  const rest = minute - (clock.now() % minute);
  // It is set when the minute before has been written. A little beyond a minute, no other timer is due just then.
  await clock.timer(rest);
  clock.advance(rest + 3);
}

/** Goes a little beyond the end of the present minute, and waits until that is written. */
async function endMinute(receiver: Receiver, clock: ManualClock): Promise<void> {
  const before = (await receiver.history.list()).length;
  await goToNextMinute(clock);
  await expect.poll(async () => (await receiver.history.list()).length).toBe(before + 1);
}

describe('the history', () => {
  test(
    'counts what has happened in each minute and hour, from what was answered to what handlers did',
    { tags: 'long' },
    async () => {
      // All that is sent first belongs to one minute.
      const begin = Math.floor(Date.now() / minute) * minute;
      const clock = new ManualClock(begin);
      const { receiver, logs, send } = await working(clock);
      // One after the other: each handler moves the clock.
      await send('a');
      await logs.until('run_done');
      await send('b');
      await logs.until('run_done', 2);
      expect(await send('b')).toMatchObject({ json: { status: 'duplicate' } });
      expect(await send('forged', otherSecret)).toMatchObject({ status: 401 });
      await send('bad');
      await logs.until('run_retry');
      await clock.timer(500);
      clock.advance(1_000);
      await logs.until('run_dead');
      await endMinute(receiver, clock);
      const refused = { not_authentic: 1 };
      const counts = { accepted: 3, duplicate: 1, quarantined: 0, refused, done: 2, retried: 1, dead: 1 };
      expect(await receiver.history.list()).toEqual([
        expect.objectContaining({ ...counts, at: new Date(begin), handlerP50: 8, handlerP99: 8, waiting: 0 }),
      ]);
      await send('c');
      await logs.until('run_done', 3);
      await endMinute(receiver, clock);
      const [first, second, ...others] = await receiver.history.list({ since: begin });
      expect([first?.accepted, second?.accepted, others]).toEqual([3, 1, []]);
      expect(second?.at).toEqual(new Date(begin + minute));
      const hours = await receiver.history.list({ resolution: 'hour' });
      expect(hours.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(4);
      expect(hours[0]?.at).toEqual(new Date(begin - (begin % hour)));
      expect(await receiver.history.list({ until: begin })).toEqual([]);
    },
  );

  test('merges minutes into steps, with the quantiles of all that happened in a step', async () => {
    const begin = Math.floor(Date.now() / minute) * minute;
    const clock = new ManualClock(begin);
    const { receiver, logs, send } = await working(clock);
    const sent = async (...traceIds: readonly string[]) => {
      for (const traceId of traceIds) {
        const done = logs.of('run_done').length;
        await send(traceId);
        await logs.until('run_done', done + 1);
      }
      await endMinute(receiver, clock);
    };
    await sent('slow');
    await sent('a', 'b', 'c');
    await sent('d');
    expect((await receiver.history.list()).map(({ handlerP50 }) => handlerP50)).toEqual([1_200, 8, 8]);
    const merged = { accepted: 4, done: 4, handlerP50: 8, handlerP99: 1_200 };
    expect(await receiver.history.list({ since: begin, step: '2m' })).toMatchObject([
      { ...merged, at: new Date(begin) },
      { accepted: 1, at: new Date(begin + 2 * minute) },
    ]);
    // Steps are counted from `since`.
    const since = begin - minute;
    expect(await receiver.history.list({ since, step: 2 * minute })).toMatchObject([
      { accepted: 1, at: new Date(since) },
      { accepted: 4, at: new Date(since + 2 * minute) },
    ]);
    await expect(receiver.history.list({ step: 0 })).rejects.toThrow('step in history.list');
  });

  test('says of each handler what it did and how long that took, in all processes', async () => {
    const clock = new ManualClock(Math.floor(Date.now() / minute) * minute);
    const database = temporaryDatabase();
    const start = (name: string, milliseconds: number) =>
      started({ clock, database }, (r) =>
        r.on('*', { name, retry: { attempts: 1 } }, ({ traceId }) => {
          clock.advance(milliseconds);
          if (traceId === 'bad') throw new Error('no');
        }),
      );
    const [slow, quick] = [await start('slow', 1_000), await start('quick', 7)];
    const sent = async ({ receiver, logs }: typeof slow, traceId: string, name: 'run_done' | 'run_dead') => {
      // The run may be over before the answer is read.
      const before = logs.of(name).length;
      const body = bodyOf({ traceId });
      await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
      await logs.until(name, before + 1);
    };
    await sent(slow, 'a', 'run_done');
    await sent(quick, 'b', 'run_done');
    await sent(quick, 'c', 'run_done');
    await sent(quick, 'bad', 'run_dead');
    await goToNextMinute(clock);
    const of = (handler: string) => quick.receiver.history.ofHandler(handler);
    await expect
      .poll(() => of('slow'))
      .toEqual([
        { at: expect.any(Date), done: 1, retried: 0, dead: 0, handlerP50: 1_200, handlerP99: 1_200 },
      ]);
    await expect
      .poll(() => of('quick'))
      .toEqual([{ at: expect.any(Date), done: 2, retried: 0, dead: 1, handlerP50: 8, handlerP99: 8 }]);
    expect(await of('other')).toEqual([]);
    const hours = { resolution: 'hour', step: '6h' } as const;
    expect(await quick.receiver.history.ofHandler('quick', hours)).toMatchObject([{ done: 2, dead: 1 }]);
    await expect(of('')).rejects.toThrow('handler in history.ofHandler');
  });

  test('says how much waits, and for how long', async () => {
    const clock = new ManualClock();
    const { receiver, send } = await working(clock);
    await receiver.handlers.pause('crm');
    await send('a');
    await expect.poll(async () => (await receiver.counts()).runs.due).toBe(1);
    const arrivedAt = clock.now();
    await endMinute(receiver, clock);
    expect(await receiver.history.list()).toMatchObject([
      { waiting: 1, oldestWaiting: clock.now() - arrivedAt },
    ]);
  });

  test('adds up what several processes have claimed and not begun', async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const { promise: mended, resolve: mend } = Promise.withResolvers<void>();
    const one = await blocked({ clock, database }, mended);
    const other = await blocked({ clock, database }, mended);
    for (const receiver of [one, other]) {
      for (let sent = 0; sent < 3; sent += 1) {
        const body = bodyOf();
        await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
      }
      await expect.poll(async () => (await receiver.history.backlog()).waiting).toBe(2);
    }
    await goToNextMinute(clock);
    for (const resolution of ['minute', 'hour'] as const)
      await expect.poll(async () => (await one.history.list({ resolution }))[0]?.waiting).toBe(4);
    mend();
  });

  test('has what all processes did, and what was done before a stop', { tags: 'long' }, async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const one = await working(clock, database);
    const other = await working(clock, database);
    await one.send('a');
    await other.send('b');
    await expect.poll(async () => (await one.receiver.counts()).events.done).toBe(2);
    await one.receiver.stop();
    await goToNextMinute(clock);
    await expect
      .poll(async () =>
        (await other.receiver.history.list()).reduce((sum, { accepted }) => sum + accepted, 0),
      )
      .toBe(2);
  });

  // Timers of Node do so now and then, because the two clocks begin their milliseconds at different moments.
  test('counts in the right minute although its timer fires a little before its end', async () => {
    const begin = Math.floor(Date.now() / minute) * minute;
    const clock = new ManualClock(begin);
    const { receiver, logs, send } = await working(clock);
    await send('a');
    await logs.until('run_done');
    const rest = minute - (clock.now() % minute);
    await clock.timer(rest);
    clock.setWallClock(-1);
    clock.advance(rest);
    await clock.timer(1);
    expect(await receiver.history.list()).toEqual([]);
    clock.advance(1);
    const counted = () => receiver.history.list();
    await expect.poll(counted).toMatchObject([{ at: new Date(begin), accepted: 1 }]);
  });

  test('counts with a later minute what could not be written', async () => {
    const clock = new ManualClock();
    let isBroken = true;
    const database = storeAround(temporaryDatabase(), clock, (method, work) =>
      method === 'history.add'
        ? (...given) => (isBroken ? Promise.reject(new Error('broken')) : work(...given))
        : undefined,
    );
    const { receiver, logs } = await started({ clock, database }, (r) =>
      r.on('*', { name: 'crm' }, () => {}),
    );
    await deliver(receiver);
    await logs.until('run_done');
    await goToNextMinute(clock);
    // The timer of the next minute is set when the write has failed.
    await clock.timer(minute - (clock.now() % minute));
    isBroken = false;
    await goToNextMinute(clock);
    await expect.poll(() => receiver.history.list()).toMatchObject([{ accepted: 1, done: 1 }]);
    expect(await receiver.history.ofHandler('crm')).toMatchObject([{ done: 1 }]);
  });

  // A machine that wakes up years ahead, until its time server corrects it.
  test('loses nothing to a clock that is set forward by mistake', { tags: 'long' }, async () => {
    const clock = new ManualClock();
    const { receiver, logs, send } = await working(clock);
    await send('a');
    await logs.until('run_done');
    await endMinute(receiver, clock);
    clock.setWallClock(365 * 24 * hour);
    await send('b');
    await logs.until('run_done', 2);
    await endMinute(receiver, clock);
    expect(await receiver.history.list()).toMatchObject([{ accepted: 1 }, { accepted: 1 }]);
    expect(await receiver.history.list({ resolution: 'hour' })).toHaveLength(2);
  });
});
