import { describe, expect, test, vi } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { isOnPostgres, rowsIn, storeIn } from '../support/inbox.ts';
import { ConfigError } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const bodies = (count: number) => Array.from({ length: count }, (_, n) => bodyOf({ traceId: `t-${n}` }));
/** From each to the next. */
const gaps = (times: readonly number[]) => times.slice(1).map((time, index) => time - (times[index] ?? 0));
const hour = 3_600_000;

/**
 * A store, and how many slots were asked of it, and of how many the answer has not come. Time must not pass before it has: the
 * attempt would be late by as much.
 */
function reserving(database: string, clock: ManualClock) {
  const store = storeIn(database, clock);
  const reserve = store.handlers.reserveStarts.bind(store.handlers);
  const slots = { asked: 0, awaited: 0 };
  vi.spyOn(store.handlers, 'reserveStarts').mockImplementation((wanted) => {
    slots.asked += 1;
    slots.awaited += 1;
    return reserve(wanted).finally(() => (slots.awaited -= 1));
  });
  return { store, slots };
}

describe('a handler with a rate', () => {
  // On Postgres, the slots follow the clock of the database, which no test moves.
  test.skipIf(isOnPostgres)(
    'begins one attempt per interval, and does not delay other handlers',
    async () => {
      const clock = new ManualClock();
      const begun: number[] = [];
      const { store, slots } = reserving(':memory:', clock);
      const { receiver, logs } = await started({ database: store, clock, random: () => 0.5 }, (r) => {
        r.on('*', { name: 'crm', rate: '10/s' }, (_, { attempt }) => {
          begun.push(clock.elapsed());
          if (begun.length === 3 && attempt === 1) throw new Error('not yet');
        });
        r.on('*', { name: 'mail' }, () => {});
      });
      for (const body of bodies(25)) await deliver(receiver, body);
      await logs.until('run_done', 26);
      expect(begun).toHaveLength(1);
      while (begun.length < 26) {
        if (slots.awaited === 0) clock.advance(1);
        await turn();
      }
      expect(Math.min(...gaps(begun))).toBeGreaterThanOrEqual(100);
    },
  );

  test.skipIf(isOnPostgres)('does not make up for slots unused for lack of concurrency', async () => {
    const clock = new ManualClock();
    const gate = new Gate();
    const begun: number[] = [];
    const { receiver } = await started({ clock }, (r) =>
      r.on('*', { name: 'crm', rate: '10/s', concurrency: 4 }, async () => {
        begun.push(clock.elapsed());
        await gate.pass();
      }),
    );
    for (const body of bodies(9)) await deliver(receiver, body);
    const advanceUntil = async (count: number) => {
      while (begun.length < count) {
        clock.advance(1);
        await turn();
      }
    };
    await advanceUntil(4);
    clock.advance(60_000);
    const freeAt = clock.elapsed();
    gate.open();
    await advanceUntil(9);
    // Nine have begun; the first of the five that waited could begin at once.
    expect(clock.elapsed() - freeAt).toBeGreaterThanOrEqual(400);
  });

  test.skipIf(isOnPostgres)('does not make up for slots unused while paused', async () => {
    const clock = new ManualClock();
    const begun: number[] = [];
    const { receiver } = await started({ clock }, (r) =>
      r.on('*', { name: 'crm', rate: '10/s', order: 'none' }, () => void begun.push(clock.elapsed())),
    );
    // Slots for several of them are reserved: they are ready together.
    await receiver.handlers.pause('crm');
    for (const body of bodies(5)) await deliver(receiver, body);
    await receiver.handlers.resume('crm');
    await expect.poll(() => begun.length).toBe(1);
    clock.advance(100);
    await expect.poll(() => begun.length).toBe(2);
    await receiver.handlers.pause('crm');
    clock.advance(60_000);
    await receiver.handlers.resume('crm');
    while (begun.length < 5) {
      clock.advance(1);
      await turn();
    }
    expect(Math.min(...gaps(begun))).toBeGreaterThanOrEqual(100);
  });

  test('is limited in all processes together', async () => {
    const database = temporaryDatabase();
    const clock = new ManualClock();
    const begun: number[] = [];
    const start = async () => {
      const { store, slots } = reserving(database, clock);
      const { receiver } = await started({ database: store, clock }, (r) => {
        r.on('*', { name: 'crm', rate: '1/h', order: 'none' }, () => begun.push(clock.elapsed()));
      });
      return { receiver, slots };
    };
    const both = [await start(), await start()];
    for (const body of bodies(4)) for (const { receiver } of both) await deliver(receiver, body);
    await expect.poll(() => begun.length).toBe(1);
    const advanced = async () => {
      if (both.every(({ slots }) => slots.awaited === 0)) {
        // On Postgres, the slots follow the clock of the database: they come nearer, as if it had moved on.
        if (isOnPostgres) await rowsIn(database, 'update handler_rates set next_at = next_at - 300000');
        clock.advance(300_000);
      }
      return begun.length;
    };
    await expect.poll(advanced, { interval: 5 }).toBe(4);
    expect(Math.min(...gaps(begun))).toBeGreaterThanOrEqual(hour - 300_000);
  });

  test.skipIf(isOnPostgres)(
    'has its next attempt in time, however often its processes end',
    { tags: 'long' },
    async () => {
      const database = temporaryDatabase();
      const clock = new ManualClock();
      const begun: number[] = [];
      const start = async () => {
        const { store, slots } = reserving(database, clock);
        const { receiver } = await started({ database: store, clock }, (r) => {
          r.on('*', { name: 'crm', rate: '1/d', order: 'none' }, () => begun.push(clock.elapsed()));
        });
        return { receiver, slots };
      };
      // The attempt that waits asks for its slot in each process.
      const answered = () => expect.poll(() => slots.asked > 0 && slots.awaited === 0).toBe(true);
      let { receiver, slots } = await start();
      for (const body of bodies(2)) await deliver(receiver, body);
      await expect.poll(() => begun.length).toBe(1);
      for (let ends = 0; ends < 4; ends += 1) {
        await answered();
        await receiver.stop({ drain: 0 });
        ({ receiver, slots } = await start());
      }
      await answered();
      const [first = 0] = begun;
      const advanced = () => {
        if (slots.awaited === 0) clock.advance(hour);
        return begun.length;
      };
      await expect.poll(advanced, { interval: 5 }).toBe(2);
      expect(clock.elapsed() - first).toBeLessThan(3 * 24 * hour);
    },
  );

  test('begins again when the inbox can be written again', async () => {
    const clock = new ManualClock();
    const database = storeIn(':memory:', clock);
    vi.spyOn(database.handlers, 'reserveStarts').mockRejectedValueOnce(new Error('disk full'));
    const { receiver, logs } = await started({ clock, database }, (r) =>
      r.on('*', { name: 'crm', rate: '100/s' }, () => {}),
    );
    await deliver(receiver, bodyOf());
    await logs.until('dispatch_failed');
    await clock.runUntil(logs.until('run_done'));
  });

  test('says its rate, and refuses what is none', async () => {
    const { receiver } = await started({}, (r) => r.on('*', { name: 'crm', rate: '100/m' }, () => {}));
    const { handlers } = await receiver.handlers.list();
    expect(handlers).toMatchObject([{ name: 'crm', settings: { rate: '100/m' } }]);
    for (const rate of ['', '0/s', '10', '10/w', '-1/s', '1.5/s', 10])
      expect(() => made().receiver.on('*', { rate: rate as '10/s' }, () => {})).toThrow(ConfigError);
  });
});
