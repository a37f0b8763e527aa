/** An event doesn't overtake an earlier event of its call that is on its way back to the inbox, unseen by any claim. */
import { expect, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import type { ClaimedEvent } from '../../src/store/claims.ts';
import type { Settlement } from '../../src/store/store.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { started } from '../support/receiver.ts';
import { type Work, storeAround } from '../support/store-around.ts';
import { deliverOthers, eventOf, maxWaiting, orders, traceIdOf } from './one-call.ts';

test.each(orders)('a handed over event stays behind, with order %s', async (order) => {
  const [full, written, handedOver, wayBack] = [new Gate(), new Gate(), new Gate(), new Gate()];
  const seen: string[] = [];
  const around = (verb: string, work: Work): Work | undefined => {
    if (verb === 'record') {
      return async (record, handOver) => {
        if (traceIdOf(record) !== 'later') return work(record, handOver);
        await written.pass();
        const held: unknown[] = [];
        const result = await work(record, (claimed: unknown) => held.push(claimed));
        await handedOver.pass();
        for (const claimed of held) (handOver as (claimed: unknown) => void)(claimed);
        return result;
      };
    }
    if (verb !== 'settle') return undefined;
    return async (settlement) => {
      if ((settlement as Settlement).state.kind !== 'done') await wayBack.pass();
      return work(settlement);
    };
  };
  const database = storeAround(':memory:', systemClock, around);
  const { receiver, logs } = await started({ database }, (r) =>
    r
      .on('*', { name: 'slow', order, concurrency: 1 }, async ({ traceId }) => {
        await full.pass();
        seen.push(traceId);
      })
      .on('*', { name: 'quick', order: 'none' }, () => {}),
  );
  await deliverOthers(receiver, maxWaiting - 1);
  // `later` counts on the last place in memory. While it is written, `another` takes that place, and `earlier`, of the
  // same call, finds none.
  const later = deliver(receiver, eventOf('later'));
  await written.reached;
  await Promise.all([
    deliver(receiver, bodyOf({ traceId: 'another' })),
    deliver(receiver, eventOf('earlier')),
  ]);
  await wayBack.reached;
  written.open();
  await handedOver.reached;
  full.open();
  await logs.until('run_done', 2 * maxWaiting);
  handedOver.open();
  await later;
  wayBack.open();
  await logs.until('run_done', 2 * maxWaiting + 4);
  expect(seen.slice(-2)).toEqual(['earlier', 'later']);
});

/** The claimed event as if a run of its call had been open when it was recorded, so that it goes back to the inbox. */
const behindAnother = (claimed: unknown): ClaimedEvent => ({
  ...(claimed as ClaimedEvent),
  openRuns: [{ handler: 'seeing', attempts: 0, dueAt: 0 }],
});

/** Records an event, and waits at the gate before it hands the event over. */
const recordAt =
  (gate: Gate, work: Work): Work =>
  async (record, handOver) => {
    const held: ClaimedEvent[] = [];
    const result = await work(record, (claimed: unknown) => held.push(behindAnother(claimed)));
    await gate.pass();
    for (const claimed of held) (handOver as (claimed: ClaimedEvent) => void)(claimed);
    return result;
  };

const isOnItsWayBack = (settlement: unknown): boolean => (settlement as Settlement).state.kind !== 'done';

test.each(orders)('one that is claimed from the inbox stays behind, with order %s', async (order) => {
  const [recorded, claiming, wayBack, claimed] = [new Gate(), new Gate(), new Gate(), new Gate()];
  let isLaterThere = false;
  const around = (verb: string, work: Work): Work | undefined => {
    if (verb === 'record') {
      return async (record, handOver) => {
        if (traceIdOf(record) === 'earlier') return recordAt(recorded, work)(record, handOver);
        isLaterThere = true;
        return work(record);
      };
    }
    if (verb === 'claimEvents') {
      return async (...given) => {
        if (isLaterThere) await claiming.pass();
        return work(...given);
      };
    }
    if (verb !== 'settle') return undefined;
    return async (settlement) => {
      if (isOnItsWayBack(settlement)) await wayBack.pass();
      return work(settlement);
    };
  };
  const seen: string[] = [];
  const { receiver, logs } = await started({ database: storeAround(':memory:', systemClock, around) }, (r) =>
    r
      .on('*', { name: 'seeing', order }, ({ traceId }) => void seen.push(traceId))
      .on(
        '*',
        { name: 'quick', order: 'none' },
        ({ traceId }) => void (traceId === 'later' && claimed.pass()),
      ),
  );
  const earlier = deliver(receiver, eventOf('earlier'));
  await recorded.reached;
  // When this claim begins, no event is on its way back yet.
  await deliver(receiver, eventOf('later'));
  await claiming.reached;
  recorded.open();
  await earlier;
  await wayBack.reached;
  claiming.open();
  await claimed.reached;
  wayBack.open();
  await logs.until('run_done', 4);
  expect(seen).toEqual(['earlier', 'later']);
});

test.each(orders)('one that was back before it stays behind, with order %s', async (order) => {
  const recorded = { earlier: new Gate(), later: new Gate() };
  const [looking, wayBack, back, claimed] = [new Gate(), new Gate(), new Gate(), new Gate()];
  let isThirdThere = false;
  const around = (verb: string, work: Work): Work | undefined => {
    if (verb === 'record') {
      return async (record, handOver) => {
        const traceId = traceIdOf(record);
        if (traceId === 'earlier' || traceId === 'later')
          return recordAt(recorded[traceId], work)(record, handOver);
        isThirdThere = true;
        return work(record);
      };
    }
    if (verb === 'nextDue') {
      return async (...given) => {
        if (isThirdThere) await looking.pass();
        return work(...given);
      };
    }
    if (verb === 'claimRuns') {
      return async (...given) => {
        const runs = await work(...given);
        void claimed.pass();
        return runs;
      };
    }
    if (verb !== 'settle') return undefined;
    return async (settlement) => {
      // As if writing `earlier` back had failed and were tried again.
      if (isOnItsWayBack(settlement) && (settlement as Settlement).sequence === 1) await wayBack.pass();
      const settled = await work(settlement);
      if (isOnItsWayBack(settlement)) void back.pass();
      return settled;
    };
  };
  const seen: string[] = [];
  const { receiver, logs } = await started({ database: storeAround(':memory:', systemClock, around) }, (r) =>
    r.on('*', { name: 'seeing', order }, ({ traceId }) => void seen.push(traceId)),
  );
  const both = [deliver(receiver, eventOf('earlier'))];
  await recorded.earlier.reached;
  both.push(deliver(receiver, eventOf('later')));
  await recorded.later.reached;
  await deliver(receiver, bodyOf({ traceId: 'third' }));
  await looking.reached;
  recorded.earlier.open();
  await wayBack.reached;
  recorded.later.open();
  await Promise.all(both);
  await back.reached;
  looking.open();
  await claimed.reached;
  wayBack.open();
  await logs.until('run_done', 3);
  expect(seen.filter((traceId) => traceId !== 'third')).toEqual(['earlier', 'later']);
});
