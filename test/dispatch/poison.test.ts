/** Events that processes have died over: one at a time is read and handled. */
import { expect, test } from 'vitest';
import { type Method, faultyStore } from '../faults/faulty-store.ts';
import { poisonEvents } from '../store/crash-counts.ts';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, deliverAll } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import type { Receiver } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

test('poison events are tried one by one, each by all of its handlers', async () => {
  const clock = new ManualClock();
  const database = faultyStore(':memory:', clock, () => undefined, { claimsAtOnce: false });
  const seen: string[] = [];
  let active = 0;
  let maxActive = 0;
  const { receiver } = await started({ clock, database }, (r) => {
    poisonEvents(r, 2);
    for (const name of ['one', 'another'])
      r.on('*', { name }, async ({ traceId }) => {
        active += 1;
        maxActive = Math.max(maxActive, active);
        seen.push(`${name} ${traceId}`);
        await new Promise(setImmediate);
        active -= 1;
      });
  });
  for (const traceId of ['first', 'second', 'third']) await deliver(receiver, bodyOf({ traceId }));
  while ((await receiver.counts()).events.done < 3) await new Promise(setImmediate);
  expect(seen.slice(0, 4)).toEqual(['one first', 'another first', 'one second', 'another second']);
  expect(seen).toHaveLength(6);
  expect(maxActive).toBe(1);
});

test('after one death a run is alone for a second, so that one which takes an hour holds up no others', async () => {
  const clock = new ManualClock();
  const database = faultyStore(':memory:', clock, () => undefined, { claimsAtOnce: false });
  const seen: string[] = [];
  const hour = new Gate();
  const { receiver } = await started({ clock, database }, (r) => {
    poisonEvents(r, 1);
    r.on('*', async ({ traceId }) => {
      seen.push(traceId);
      if (traceId === 'first') await hour.pass();
    });
  });
  for (const traceId of ['first', 'second']) await deliver(receiver, bodyOf({ traceId }));
  await hour.reached;
  for (let turns = 0; turns < 50; turns += 1) await turn();
  expect(seen).toEqual(['first']);
  clock.advance(1_000);
  await expect.poll(async () => (await receiver.counts()).events.done).toBe(1);
  expect(seen).toEqual(['first', 'second']);
  hour.open();
  await expect.poll(async () => (await receiver.counts()).events.done).toBe(2);
});

test('an event that waits to be read alone does not block a stop', async () => {
  const clock = new ManualClock();
  const file = temporaryDatabase();
  let readings = 0;
  const count = (method: Method): undefined => {
    if (method === 'beginReading') readings += 1;
  };
  const database = faultyStore(file, clock, count, { claimsAtOnce: false });
  const gate = new Gate();
  const { receiver } = await started({ clock, database }, (r) => {
    poisonEvents(r, 2);
    r.on('*', gate.pass);
  });
  await deliver(receiver, bodyOf({ traceId: 'first' }));
  await gate.reached;
  for (const traceId of ['second', 'third']) await deliver(receiver, bodyOf({ traceId }));
  // The run whose attempt is counted is claimed by itself, and no longer under its event.
  const claims = receiver.database.prepare(`
    select (select count(*) from claims) + (select count(*) from runs where claimed_by is not null) as claimed`);
  await expect.poll(() => claims.get()).toEqual({ claimed: 3 });
  const stopping = receiver.stop({ drain: '1m' });
  gate.open();
  await stopping;
  // The first was read to find its handler, and for it.
  expect(readings).toBe(2);
  const next = await started({ database: file }, (r) => r.on('*', () => {}));
  await expect.poll(async () => (await next.receiver.counts()).events.done).toBe(3);
});

test('of the events that are to be read by themselves, those go first over whose reading fewer processes died', async () => {
  const database = temporaryDatabase();
  // All three are there before the first is read, however busy the machine is: no time passes.
  const clock = new ManualClock();
  // Without handlers nothing is claimed.
  const first = made({ clock, database });
  await first.receiver.start();
  for (const traceId of ['twice', 'once', 'never']) await deliver(first.receiver, bodyOf({ traceId }));
  first.receiver.database.exec(
    'insert into crash_counts (sequence, count, reading_crashes) values (1, 3, 2), (2, 2, 1), (3, 1, 0)',
  );
  await first.receiver.stop();
  const seen: string[] = [];
  const { receiver, logs } = await started({ clock, database }, (r) =>
    r.on('*', ({ traceId }) => seen.push(traceId)),
  );
  await logs.until('run_done', 3);
  expect(seen).toEqual(['never', 'once', 'twice']);
  expect((await receiver.counts()).events.done).toBe(3);
});

/** More events than a handler may have in memory otherwise, and the condition of the trigger that makes them poison. */
const many = Array.from({ length: 1_100 }, (_, index) => bodyOf({ traceId: `poison-${index}` }));
const ofMany = `when new.sequence <= ${many.length}`;

/** A handler that hangs in all events that may be poison, and what it was called with. */
function hanging() {
  const gate = new Gate();
  const seen: string[] = [];
  const register = (receiver: Receiver) =>
    receiver.on('*', async ({ traceId }) => {
      seen.push(traceId);
      if (traceId !== 'new') await gate.pass();
    });
  return { register, reached: gate.reached, seen };
}

test(
  'poison events that wait to be read take no room from new ones, however many there are',
  { tags: 'long' },
  async () => {
    const clock = new ManualClock();
    const database = faultyStore(':memory:', clock, () => undefined, { claimsAtOnce: false });
    const { register, reached, seen } = hanging();
    const { receiver } = await started({ clock, database }, register);
    poisonEvents(receiver, 1, ofMany);
    // The others come while its run is alone.
    await deliver(receiver, many[0]);
    await reached;
    await deliverAll(receiver, many.slice(1));
    await deliver(receiver, bodyOf({ traceId: 'new' }));
    await expect.poll(() => seen).toEqual([expect.stringMatching('poison'), 'new']);
  },
);

test(
  'poison events that wait for their turn take no room from new ones, however many there are',
  { tags: 'long' },
  async () => {
    const [clock, database] = [new ManualClock(), temporaryDatabase()];
    const before = made({ clock, database });
    await before.receiver.start();
    poisonEvents(before.receiver, 1, ofMany);
    await deliverAll(before.receiver, many);
    await before.receiver.stop();
    const { register, reached, seen } = hanging();
    const { receiver } = await started({ clock, database }, register);
    // All others have been read by then.
    await reached;
    await deliver(receiver, bodyOf({ traceId: 'new' }));
    await expect.poll(() => seen).toEqual([expect.stringMatching('poison'), 'new']);
  },
);
