// @module-tag long
import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/kit/clock.ts';
import type { PlayedCall } from '../../src/sandbox/index.ts';
import { type Receiver, eventNames } from '../support/public.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import {
  difference,
  inWords,
  lostDeliveries,
  playThroughOutages,
  whenAllIsHandled,
} from './adversary-run.ts';
import { playedTimeline, receivedTimeline } from './adversary-timeline.ts';
import { subscribed } from './delivery-subscription.ts';
import { Front, ReceiverBehindFront } from './receiver-process-front.ts';
import { startedSandbox } from './support.ts';

/** Three retries ten seconds apart take two real seconds at this speed: usually longer than a receiver's start. */
const speed = 15;
const load = { calls: 200, atOnce: 100, maxSeconds: 20 };
const rate = 0.02;
const rates = {
  duplicated: rate,
  delayed: rate,
  dropped: rate,
  tampered: rate,
  wrong_secret: rate,
  rubbish: rate,
};
/** The second outage lasts until the platform has given up some deliveries. */
const outages = [
  { after: 30, lost: 0 },
  { after: 60, lost: 20 },
  { after: 120, lost: 0 },
];
/** In milliseconds. The test takes five seconds on two idle cores, and far longer on a busy machine. */
const timeout = 3_600_000;

/**
 * Attempts time out, as in production, but later: of those that a busy machine lets time out, nobody could say whether a
 * receiver was met.
 */
const clock: Clock = {
  ...systemClock,
  after: (ms, action) => systemClock.after(ms === 1_000 ? 20_000 : ms, action),
};

const none = { tooMany: [], tooFew: [] };

test(
  '200 calls, an adversary, a receiver killed repeatedly: only events that the platform gave up are missing',
  { timeout },
  async ({ annotate }) => {
    const front = new Front();
    const url = await front.listen();
    const sandbox = await startedSandbox({
      speed,
      callSeed: 1,
      adversary: { seed: 1, ...rates },
      clock,
    });
    const { secret } = await subscribed(sandbox, url);
    const database = temporaryDatabase();
    const behindFront = new ReceiverBehindFront(front, { database, secret });
    const played = await playThroughOutages(sandbox, behindFront, load, outages);
    const receiver = await whenAllIsHandled(database, secret);

    // The missing events are exactly the given-up deliveries that are not stored. All certain losses are among them.
    const events = played.flatMap((call) => call.events);
    const stored = new Set(column(receiver, 'select trace_id from events'));
    const missing = traceIdsOf(events).filter((traceId) => !stored.has(traceId));
    const givenUp = sandbox.deliveries.givenUp();
    const missed = givenUp.filter(({ traceId }) => !stored.has(traceId));
    await annotate(missed.map((delivery) => inWords(sandbox, delivery)).join('\n'));
    expect(difference(missing, traceIdsOf(missed))).toEqual(none);
    expect(lostDeliveries(sandbox).filter(({ traceId }) => stored.has(traceId))).toEqual([]);
    expect(difference([...stored, ...missing], traceIdsOf(events))).toEqual(none);

    // Every call is recorded as it was played, as far as the events that are not missing report it.
    const different: unknown[] = [];
    for (const call of played) {
      const expected = playedTimeline(call, ({ traceId }) => stored.has(traceId));
      const found = receivedTimeline(call, await receiver.calls.get(call.callId));
      if (!isDeepStrictEqual(found, expected)) different.push({ expected, found });
    }
    expect(different).toEqual([]);

    // Every event was handled once, and every join called once: complete, or an hour later without the missing events.
    expect(difference(column(receiver, 'select trace_id from handled'), [...stored])).toEqual(none);
    const joined = column(receiver, "select call_id || ' ' || complete from joined");
    const joins = played.flatMap((call) => joinedBy(call, stored));
    expect(difference(joined, joins)).toEqual(none);

    // There were disturbances of every kind and lost deliveries, or this test would show nothing.
    const attempts = Map.groupBy(sandbox.attempts.list(), ({ disturbance }) => disturbance ?? 'none');
    expect([...attempts.keys()].toSorted()).toEqual(['none', ...Object.keys(rates)].toSorted());
    expect(missed.length).toBeGreaterThanOrEqual(20);
    const forged = [...(attempts.get('tampered') ?? []), ...(attempts.get('wrong_secret') ?? [])];
    expect(forged.filter(({ isDelivered }) => isDelivered)).toEqual([]);
  },
);

function traceIdsOf(items: readonly { readonly traceId: string }[]): readonly string[] {
  return items.map(({ traceId }) => traceId);
}

/** The first column of a query's rows. */
function column({ database }: Receiver, sql: string): readonly string[] {
  return database
    .prepare(sql)
    .all()
    .map((row) => String(Object.values(row as object)[0]));
}

/** The row that a call's join writes; none when no event that it waits for has arrived. */
function joinedBy({ callId, events }: PlayedCall, stored: ReadonlySet<string>): readonly string[] {
  const awaited: readonly string[] = [eventNames.callEnded, eventNames.pcaCompleted];
  const come = events.filter(({ eventName, traceId }) => awaited.includes(eventName) && stored.has(traceId));
  return come.length === 0 ? [] : [`${callId} ${Number(come.length === awaited.length)}`];
}
