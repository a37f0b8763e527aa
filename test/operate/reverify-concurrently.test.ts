/** What happens while the quarantine is checked again: another process checks it too, deliveries arrive, the receiver stops. */
import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import type { Clock, Receiver, SchemeName } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { type Work, storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

type Release = () => Promise<unknown>;

/** The scheme of a delivery that was sent as a test, and the one in which the platform signs. */
const tested: SchemeName = 't-v1-hex-whole';
const platform: SchemeName = 'v1-hex-suffix';

/** Delivers a new event, a second after the one before. */
async function send(receiver: Receiver, clock: ManualClock, scheme: SchemeName): Promise<string> {
  clock.advance(1_000);
  const body = bodyOf();
  const headers = signedHeaders(body, { scheme, timestamp: clock.now() });
  return (await deliver(receiver, body, headers)).json.status ?? 'refused';
}

/** A real store with some of its methods replaced. */
function storeWith(database: string, clock: Clock, around: Readonly<Record<string, (work: Work) => Work>>) {
  return storeAround(database, clock, (method, work) => around[method]?.(work));
}

/** An inbox in which a test has pinned its scheme, and two deliveries of the platform were refused. */
async function refused() {
  const database = temporaryDatabase();
  const clock = new ManualClock();
  const { receiver } = await started({ database, clock });
  expect(await send(receiver, clock, tested)).toBe('accepted');
  for (let index = 0; index < 2; index += 1) expect(await send(receiver, clock, platform)).toBe('refused');
  return { database, clock, receiver };
}

test('two processes that release one event each move the pin', { tags: 'long' }, async () => {
  const { database, clock, receiver } = await refused();
  // Both have found the two deliveries before one of them is released. Then each releases one, and finds that the other is gone.
  const [first, second] = [new Gate(), new Gate()];
  const releasing = (steps: readonly ((release: Release) => Promise<unknown>)[]) => {
    const left = [...steps];
    return storeWith(database, clock, {
      'quarantine.release':
        (work) =>
        async (...given) =>
          left.shift()?.(() => work(...given)),
    });
  };
  const opening = (gate: Gate) => (release: Release) => release().finally(() => gate.open());
  const waiting = (gate: Gate) => (release: Release) => gate.pass().then(release);
  const once = (gate: Gate) => (release: Release) => gate.reached.then(() => opening(gate)(release));
  const one = await started({ database: releasing([once(first), waiting(second)]), clock });
  const other = await started({ database: releasing([waiting(first), opening(second)]), clock });
  const both = [one, other].map((each) => each.receiver.quarantine.reverify());
  expect((await Promise.all(both)).map(({ released }) => released)).toEqual([1, 1]);
  expect(await send(receiver, clock, platform)).toBe('accepted');
});

test('a delivery that arrives during it and is released counts as checked', { tags: 'long' }, async () => {
  const { database, clock, receiver } = await refused();
  let looks = 0;
  const late = storeWith(database, clock, {
    // First all are checked, and then those that another scheme may fit.
    'quarantine.unauthenticated': (work) => async () => {
      if (looks++ === 1) expect(await send(receiver, clock, platform)).toBe('refused');
      return work();
    },
  });
  const beside = await started({ database: late, clock });
  const reverified = await beside.receiver.quarantine.reverify();
  expect(reverified).toMatchObject({ checked: 3, released: 3, remaining: 0 });
});

test('rejects with receiver_not_started when the receiver stops', async () => {
  const { database, clock } = await refused();
  const stopping = storeWith(database, clock, {
    'quarantine.release':
      (work) =>
      async (...given) => {
        await beside.receiver.stop();
        return work(...given);
      },
  });
  const beside = await started({ database: stopping, clock });
  await expect(beside.receiver.quarantine.reverify()).rejects.toMatchObject({ code: 'receiver_not_started' });
});
