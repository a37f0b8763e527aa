import { pino } from 'pino';
import { expect, test } from 'vitest';
import { InFlight } from '../../src/dispatch/in-flight.ts';
import { Placer } from '../../src/dispatch/placer.ts';
import { Registry } from '../../src/dispatch/registry.ts';
import { Settler } from '../../src/dispatch/settler.ts';
import { BodyDecoder, unlimited } from '../../src/events/decoding.ts';
import { Telemetry } from '../../src/receiver/telemetry.ts';
import { claimOf } from '../../src/store/shared/claimed-work.ts';
import type { Store } from '../../src/store/store.ts';
import { ManualClock } from '../support/clock.ts';
import { ofCall, storeUnbegun } from '../store/conformance/one-call.ts';
import { claimDue, claimedOf, only, runOf } from '../store/parts.ts';
import { openedOf } from '../store/under-test.ts';
import { storeIn } from '../support/inbox.ts';

/** A placer, and the lanes of the only handler, which a person has paused. */
function paused(store: Store) {
  const retry = { attempts: 1, base: 1, factor: 1, cap: 1 };
  const registry = new Registry({ timeout: 1_000, retry, concurrency: 1, strictNames: false });
  registry.add(['*'], { name: 'handler' }, () => {});
  const lanes = only(registry.lanes);
  lanes.isPaused = true;
  const telemetry = new Telemetry(pino({ level: 'silent' }));
  const settler = new Settler({
    store,
    telemetry,
    clock: new ManualClock(),
    stop: new AbortController().signal,
  });
  const placer = new Placer({
    store,
    registry,
    telemetry,
    settler,
    decoder: new BodyDecoder(unlimited),
    clock: new ManualClock(),
    poison: { waitToRead: () => Promise.resolve(undefined) },
    loop: { inFlight: new InFlight(telemetry), beginReady: () => {}, advance: () => {}, wake: () => {} },
  });
  return { placer, lanes };
}

test('nothing is kept of a stored run whose handler was paused as it was claimed', async () => {
  const store = await openedOf({ make: (clock) => storeIn(':memory:', clock) });
  const earlier = runOf(store, only(await claimedOf(store, ofCall('a'))));
  await storeUnbegun(store, { b: 0 });
  const run = only(await claimDue(store));
  const { placer, lanes } = paused(store);
  placer.placeRun(lanes, run);
  await placer.requeued();
  await store.requeue(earlier);
  // A claim that is still watched would have got what goes before it.
  expect(claimOf(run).before.runs).toEqual([]);
});
