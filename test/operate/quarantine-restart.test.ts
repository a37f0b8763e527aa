import { expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, secret, signedHeaders } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

test('a rotated secret is suspected after a restart too, because the scheme was pinned before', async () => {
  const database = temporaryDatabase();
  const first = await started({ database });
  await deliver(first.receiver);
  await first.receiver.stop();
  const { receiver, logs } = await started({ database, secrets: otherSecret });
  for (let index = 0; index < 5; index += 1) {
    const body = bodyOf();
    const named = { 'x-webhook-event': 'CallHandler.CallEnded', 'x-webhook-traceid': `trace-${index}` };
    await deliver(receiver, body, { ...signedHeaders(body, { secrets: secret }), ...named });
  }
  expect(logs.of('secret_rotation_suspected')).toMatchObject([
    { count: 5, msg: expect.stringContaining('ringback inbox reverify --yes') as string },
  ]);
});

test(
  'two receivers on one file that check again at once record each event once',
  { tags: 'long' },
  async () => {
    const database = temporaryDatabase();
    const wrong = await started({ database, secrets: otherSecret });
    for (let index = 0; index < 20; index += 1) await deliver(wrong.receiver);
    await wrong.receiver.stop();
    const both = [await started({ database }), await started({ database })];
    const results = await Promise.all(both.map(({ receiver }) => receiver.quarantine.reverify()));
    expect(results.reduce((sum, { released }) => sum + released, 0)).toBe(20);
    expect(results.map(({ remaining }) => remaining)).toEqual([0, 0]);
    const { events } = (await both[0]?.receiver.counts()) ?? {};
    expect((events?.new ?? 0) + (events?.open ?? 0) + (events?.done ?? 0)).toBe(20);
  },
);

test('what was counted as dropped is counted after a restart', { tags: 'long' }, async () => {
  const database = temporaryDatabase();
  const clock = new ManualClock();
  const { receiver } = await started({ database, clock });
  const forge = () => deliver(receiver, bodyOf(), { 'content-type': 'application/json' });
  for (let index = 0; index < 110; index += 1) await forge();
  clock.advance(1_000);
  await forge();
  await receiver.stop();
  const next = await started({ database });
  expect((await next.receiver.counts()).quarantine).toEqual({
    notAuthentic: 101,
    unreadable: 0,
    dropped: 10,
  });
});
