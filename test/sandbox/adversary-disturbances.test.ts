import { expect, test } from 'vitest';
import { type Clock, systemClock } from '../../src/kit/clock.ts';
import type { AdversaryOptions, Attempt } from '../../src/sandbox/index.ts';
import { verify } from '../support/public.ts';
import { subscribed } from './delivery-subscription.ts';
import { destination } from './destination.ts';
import { startedSandbox } from './support.ts';

/** A clock on which everything takes longer: on a busy machine, no attempt of forty at once is to time out. */
const slowness = 50;
const clock: Clock = { ...systemClock, after: (ms, action) => systemClock.after(ms * slowness, action) };
const speed = 10_000 * slowness;
const one = { events: ['CallHandler.CallStarted'] };

/** Plays a call with one delivered event, to a destination that accepts deliveries whose signature verifies. */
async function disturbed(adversary: AdversaryOptions, fields: Readonly<Record<string, unknown>> = {}) {
  const sandbox = await startedSandbox({ clock, speed, callSeed: 1, adversary });
  let secret = '';
  const isAuthentic = (bytes: Uint8Array, headers: object) =>
    verify(bytes, headers as Record<string, string>, { secrets: secret, signature: 't-v1-hex-whole' }).ok;
  const { url, received } = await destination(({ bytes, headers }) =>
    secret === '' || isAuthentic(bytes, headers) ? 200 : 401,
  );
  ({ secret } = await subscribed(sandbox, url, { ...one, ...fields }));
  await sandbox.calls.play();
  const attempts = sandbox.attempts.list();
  const attempted = ({ number, status, failure, disturbance }: Attempt) => [
    number,
    status ?? failure,
    disturbance,
  ];
  return { sandbox, received, attempted: attempts.map(attempted) };
}

test('duplicated: the same delivery twice', async () => {
  const { received, attempted } = await disturbed({ duplicated: 1 });
  // Both requests are sent at the same time, so either may be answered first.
  expect(attempted).toHaveLength(2);
  expect(attempted).toEqual(
    expect.arrayContaining([
      [1, 200, 'duplicated'],
      [1, 200, undefined],
    ]),
  );
  expect(received[0]?.bytes).toEqual(received[1]?.bytes);
  expect(received[0]?.headers['x-webhook-traceid']).toBe(received[1]?.headers['x-webhook-traceid']);
});

test('delayed: later events overtake it', async () => {
  const { sandbox, attempted } = await disturbed({ delayed: 1 });
  expect(attempted).toEqual([[1, 200, 'delayed']]);
  const calls = await Promise.all(Array.from({ length: 50 }, () => sandbox.calls.play()));
  const happened = calls.map(({ callId }) => callId);
  const delivered = sandbox.attempts.list().map(({ callId }) => callId);
  expect(delivered.slice(1).toSorted()).toEqual(happened.toSorted());
  expect(delivered.slice(1)).not.toEqual(happened);
});

test('dropped: the receiver has the body, the platform has no answer and tries again', async () => {
  const { sandbox, received, attempted } = await disturbed({ dropped: 1 });
  expect(attempted).toEqual([1, 2, 3, 4].map((number) => [number, 'cut', 'dropped']));
  expect(sandbox.deliveries.givenUp()).toHaveLength(1);
  await expect.poll(() => received.length).toBe(4);
});

for (const disturbance of ['tampered', 'wrong_secret'] as const) {
  test(`${disturbance}: what is forged doesn't verify, the true delivery comes as well`, async () => {
    const { sandbox, attempted } = await disturbed({ [disturbance]: 1 });
    expect(attempted).toEqual([
      [1, 401, disturbance],
      [1, 200, undefined],
    ]);
    expect(sandbox.deliveries.givenUp()).toEqual([]);
  });

  test(`${disturbance}: not for an unsigned subscription, whose receiver could not recognise it`, async () => {
    const { attempted } = await disturbed({ [disturbance]: 1 }, { enable_signed_webhooks: false });
    expect(attempted).toEqual([[1, 200, undefined]]);
  });
}

test('rubbish: signed bytes that are no event, under another trace id', async () => {
  const { received, attempted } = await disturbed({ rubbish: 1 });
  expect(attempted).toEqual([
    [1, 200, 'rubbish'],
    [1, 200, undefined],
  ]);
  const [rubbish, event] = received;
  expect(rubbish?.json['eventName']).toBeUndefined();
  expect(rubbish?.headers['x-webhook-traceid']).not.toBe(event?.headers['x-webhook-traceid']);
});

test(
  'the same seeds cause the same disturbances, however many deliveries are in flight',
  { tags: 'long' },
  async () => {
    const troubleOf = async (atOnce: boolean, seed: string) => {
      const sandbox = await startedSandbox({ clock, speed, callSeed: 'calls', adversary: { seed } });
      const { url } = await destination();
      await subscribed(sandbox, url);
      if (atOnce) await Promise.all(Array.from({ length: 40 }, () => sandbox.calls.play()));
      else for (let count = 0; count < 40; count += 1) await sandbox.calls.play();
      return sandbox.attempts
        .list()
        .map(({ traceId, number, disturbance }) => `${traceId} ${number} ${disturbance}`)
        .toSorted();
    };
    const trouble = await troubleOf(true, 'one');
    expect(await troubleOf(false, 'one')).toEqual(trouble);
    expect(await troubleOf(true, 'another')).not.toEqual(trouble);
  },
);

test(
  'without rates it causes every disturbance, even if only its seed is given',
  { tags: 'long' },
  async () => {
    for (const adversary of [true, { seed: 'one' }]) {
      const sandbox = await startedSandbox({ clock, speed, callSeed: 'calls', adversary });
      const { url } = await destination();
      await subscribed(sandbox, url);
      await Promise.all(Array.from({ length: 100 }, () => sandbox.calls.play()));
      const seen = new Set(sandbox.attempts.list().map(({ disturbance }) => disturbance));
      expect(seen.size).toBe(7);
    }
  },
);

test('rates of exactly 1 together are taken, however their sum is rounded', async () => {
  const adversary = { duplicated: 0.2, delayed: 0.4, dropped: 0.3, tampered: 0.1 };
  await expect(startedSandbox({ adversary })).resolves.toBeDefined();
});

test.each<[AdversaryOptions & { droped?: number }, string]>([
  [{ dropped: 2 }, 'The option dropped in adversary should be a number from 0 to 1, but is 2.'],
  [{ dropped: 0.6, tampered: 0.6 }, 'adversary, as the sum of its rates, should be at most 1, but is 1.2.'],
  [{ droped: 0.1 }, 'Did you mean dropped?'],
])('the adversary %j is refused', async (adversary, sentence) => {
  await expect(startedSandbox({ adversary })).rejects.toThrow(sentence);
});
