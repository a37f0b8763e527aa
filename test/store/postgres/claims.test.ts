/** What three processes claim of one inbox on Postgres while events come in at all of them: nothing twice, and in order. */
import { expect, test } from 'vitest';
import { concurrently } from '../../support/concurrently.ts';
import { type Answer, bodyOf, post, signedHeaders } from '../../support/deliveries.ts';
import { type Attempt, type Order, orders, startedFleet } from './handling-fleet.ts';

/** How many events there are, in twos of a call. `npm run claims` has 100,000. */
const events = Number(process.env['RINGBACK_TEST_CLAIMS'] ?? 1_000);

test('three processes claim nothing twice, and each order holds', async () => {
  const fleet = await startedFleet(3);
  const calls = Array.from({ length: events / 2 }, (_, place) => place);
  await concurrently(calls, 96, async (call) => {
    // One after the other, each to another process: of two that come at the same time, either may be the first.
    for (const place of [call, call + 1])
      expect(await post(urlOf(fleet, place), bodyOf({ callId: `call-${call}` }))).toMatchObject({
        status: 200,
      });
  });
  const attempts = await fleet.ended(events);

  for (const order of orders) {
    const made = attempts.filter((attempt) => attempt.order === order);
    const succeeded = made.filter(({ failed }) => !failed);
    expect(succeeded).toHaveLength(events);
    expect(new Set(succeeded.map(({ traceId }) => traceId)).size).toBe(events);
    expect(new Set(made.map(({ traceId, failed }) => `${traceId} ${failed}`)).size).toBe(made.length);
  }
  const arrived = await fleet.arrived();
  const place = ({ traceId }: Attempt) => arrived.get(traceId) ?? 0;
  const [call, strict] = [byCall(attempts, 'call'), byCall(attempts, 'strict')];
  expect([...call, ...strict].filter(overlaps)).toEqual([]);
  expect(call.map(firstOfEach).filter((made) => !isSorted(made.map(place)))).toEqual([]);
  expect(strict.filter((made) => !isSorted(made.map(place)))).toEqual([]);
});

test('of 200 copies of one delivery to three processes at once, one is accepted and handled', async () => {
  const fleet = await startedFleet(3);
  const body = bodyOf({ traceId: 'copied' });
  // Signed only once, so that the copies are identical to the last byte.
  const headers = signedHeaders(body);
  const copies = Array.from({ length: 200 }, (_, place) => post(urlOf(fleet, place), body, headers));
  const statuses = (await Promise.all(copies)).map(({ json }: Answer) => json.status);
  expect(statuses.filter((status) => status === 'accepted')).toHaveLength(1);
  expect(statuses.filter((status) => status === 'duplicate')).toHaveLength(199);
  const attempts = await fleet.ended(1);
  expect(attempts.map(({ order, traceId }) => `${order} ${traceId}`).toSorted()).toEqual(
    orders.map((order) => `${order} copied`).toSorted(),
  );
});

function urlOf({ urls }: { readonly urls: readonly string[] }, place: number): string {
  const url = urls[place % urls.length];
  if (url === undefined) throw new Error('There is no receiver.');
  return url;
}

/** The attempts of a handler, a list for each call, in the order in which they began. */
function byCall(attempts: readonly Attempt[], order: Order): readonly Attempt[][] {
  const made = attempts.filter((attempt) => attempt.order === order);
  const sorted = made.toSorted((one, other) => one.began - other.began);
  return [...Map.groupBy(sorted, ({ callId }) => callId).values()];
}

function overlaps(attempts: readonly Attempt[]): boolean {
  return attempts.some(({ began }, place) => place > 0 && began < (attempts[place - 1]?.ended ?? 0));
}

function firstOfEach(attempts: readonly Attempt[]): Attempt[] {
  return attempts.filter(
    ({ traceId }, place) => attempts.findIndex((other) => other.traceId === traceId) === place,
  );
}

function isSorted(places: readonly number[]): boolean {
  return places.every((place, index) => index === 0 || place >= (places[index - 1] ?? 0));
}
