/** Of each event it is kept how many duplicates arrived, and when the first and the last did. */
import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { isOnPostgres, rowsIn } from '../support/inbox.ts';
import type { Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const second = 1_000;
/** After this time at the latest, what has been counted is written. */
const pause = 5 * second;

/** Delivers a body that was signed at the time of the clock, and resolves to what it was answered. */
async function take(receiver: Receiver, clock: ManualClock, body: string) {
  return (await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }))).json.status;
}

const duplicatesOf = async (receiver: Receiver, traceId: string) =>
  (await receiver.events.get(traceId))?.duplicates;

test('how many there were, and when the first and the last came, is shown after some seconds', async () => {
  const clock = new ManualClock();
  const begun = clock.now();
  const { receiver } = await started({ clock });
  const [one, other] = ['one', 'other'].map((traceId) => bodyOf({ traceId }));
  for (const body of [one, other]) expect(await take(receiver, clock, body ?? '')).toBe('accepted');
  for (let copies = 0; copies < 3; copies += 1) {
    clock.advance(second);
    expect(await take(receiver, clock, one ?? '')).toBe('duplicate');
  }
  expect(await duplicatesOf(receiver, 'one')).toBeUndefined();
  clock.advance(pause);
  const counted = {
    count: 3,
    firstSeenAt: new Date(begun + second),
    lastSeenAt: new Date(begun + 3 * second),
  };
  await expect.poll(() => duplicatesOf(receiver, 'one')).toEqual(counted);
  const { events } = await receiver.events.list();
  expect(events.map(({ traceId, duplicates }) => [traceId, duplicates])).toEqual([
    ['other', undefined],
    ['one', counted],
  ]);
});

test('they are written at a stop, and those of all processes add up', async () => {
  const database = temporaryDatabase();
  const body = bodyOf({ traceId: 'one' });
  const [first, other] = [await started({ database }), await started({ database })];
  for (const { receiver } of [first, other, first, other]) await deliver(receiver, body);
  await Promise.all([first.receiver.stop(), other.receiver.stop()]);
  const { receiver } = await started({ database });
  expect(await duplicatesOf(receiver, 'one')).toMatchObject({ count: 3 });
});

test('a delivery that is not authentic counts nowhere, whatever id it has', async () => {
  const database = temporaryDatabase();
  const { receiver } = await started({ database });
  const body = bodyOf({ traceId: 'one' });
  await deliver(receiver, body);
  const forged = signedHeaders(body, { secrets: otherSecret });
  for (const headers of [forged, { 'content-type': 'application/json', 'x-webhook-traceid': 'one' }])
    expect((await deliver(receiver, body, headers)).status).toBe(401);
  // Its id is in a header that is not signed, so it is another event.
  const unnamed = JSON.stringify({ eventName: 'CallHandler.CallEnded', payload: { call_id: 'call-1' } });
  const named = { ...signedHeaders(unnamed), 'x-webhook-traceid': 'one' };
  expect((await deliver(receiver, unnamed, named)).json.status).toBe('accepted');
  await receiver.stop();
  const { receiver: later } = await started({ database });
  const { events } = await later.events.list();
  expect(events.map(({ traceId, duplicates }) => [traceId, duplicates])).toEqual([
    ['one', undefined],
    ['one', undefined],
  ]);
});

test('of an event that is erased, no count is left', async () => {
  const database = temporaryDatabase();
  const { receiver } = await started({ database });
  for (const callId of ['call-1', 'call-2']) {
    const body = bodyOf({ callId });
    for (let copies = 0; copies < 2; copies += 1) await deliver(receiver, body);
  }
  await receiver.stop();
  const kept = async () => (await rowsIn(database, 'select sequence from duplicates')).length;
  expect(await kept()).toBe(2);
  const { receiver: later } = await started({ database });
  await later.erase({ callId: 'call-1' });
  expect(await kept()).toBe(1);
});

test('many of them cost one write, and what could not be written is written later', async () => {
  const clock = new ManualClock();
  let writes = 0;
  const store = storeAround(':memory:', clock, (method, work) => {
    if (method !== 'events.addDuplicates') return undefined;
    return (...given) => {
      writes += 1;
      return writes === 1 ? Promise.reject(new Error('the disk is full')) : work(...given);
    };
  });
  const { receiver, logs } = await started({ clock, database: store });
  const bodies = Array.from({ length: 10 }, (_, index) => bodyOf({ traceId: `trace-${index}` }));
  for (let copies = 0; copies < 4; copies += 1) for (const body of bodies) await take(receiver, clock, body);
  expect(writes).toBe(0);
  await expect.poll(clock.passing(() => duplicatesOf(receiver, 'trace-9'))).toMatchObject({ count: 3 });
  expect(writes).toBe(2);
  expect(logs.of('duplicates_failed')).toMatchObject([{ cause: 'the disk is full' }]);
});

test.skipIf(isOnPostgres)(
  'they take no numbers, of which each 65,536 get a filter of their own',
  async () => {
    const database = temporaryDatabase();
    const { receiver } = await started({ database });
    for (const traceId of ['one', 'other']) {
      const body = bodyOf({ traceId });
      await Promise.all(Array.from({ length: 5 }, () => deliver(receiver, body)));
    }
    const rows = await rowsIn(database, 'select sequence from events order by sequence');
    expect(rows).toEqual([{ sequence: 1 }, { sequence: 2 }]);
  },
);
