/** Bodies that are large, or hold more than a process should read in one go. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { deadLettersOf } from '../support/dead-letters.ts';
import { bodyOf, deliver, post } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { started } from '../support/receiver.ts';
import { listening } from '../support/servers.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** Some hundred thousand characters, which is several parts. */
const filler = 'n'.repeat(300_000);
const nanoseconds = '1772442942123456789';

/** The body of an event with JSON of its own choosing in its payload. */
function bodyWith(traceId: string, json: string, more = ''): string {
  const fields = `"traceId":"${traceId}","eventName":"CallHandler.CallEnded","timestamp":${nanoseconds}`;
  return `{${fields},"payload":{"call_id":9234567890123456789,"found":${json},"more":"${more}"}}`;
}

describe('a body of more than the limits allow is quarantined unread, and acknowledged', () => {
  const limits = { values: 100, fields: 50, depth: 10 };

  test.each([
    ['values', `[${'1,'.repeat(100)}1]`, ''],
    ['values, in a large body', `[${'1,'.repeat(100)}1]`, filler],
    ['fields of one object', `{${'"a":1,'.repeat(50)}"b":2}`, ''],
    ['depth', `${'['.repeat(10)}${']'.repeat(10)}`, ''],
    ['depth, in a large body', `${'['.repeat(10)}${']'.repeat(10)}`, filler],
  ])('%s', async (_what, json, more) => {
    const { receiver, logs } = await started({ limits });
    const { status, json: answer } = await deliver(receiver, bodyWith('t-1', json, more));
    expect([status, answer.status]).toEqual([200, 'quarantined']);
    expect(logs.of('delivery_quarantined')).toMatchObject([{ reason: 'too_complex' }]);
    const { deliveries } = await receiver.quarantine.list({ reason: 'too_complex' });
    expect(deliveries).toHaveLength(1);
    await expect(receiver.quarantine.release(deliveries[0]?.id ?? 0)).rejects.toMatchObject({
      code: 'release_unreadable',
    });
  });

  test('over HTTP, with the limits that hold by default', async () => {
    const { receiver } = await started({ https: { required: false } });
    const url = `http://127.0.0.1:${await listening(receiver.nodeHandler())}/`;
    const deep = await post(url, bodyWith('t-1', `${'['.repeat(1_000)}${']'.repeat(1_000)}`));
    const wide = await post(url, bodyWith('t-2', `[${'{},'.repeat(500_000)}{}]`));
    expect([deep.json.status, wide.json.status]).toEqual(['quarantined', 'quarantined']);
  });

  test('and is released under higher limits', async () => {
    const database = temporaryDatabase();
    const first = await started({ database, limits });
    await deliver(first.receiver, bodyWith('t-1', `[${'1,'.repeat(100)}1]`));
    await first.receiver.stop();
    const seen: string[] = [];
    const next = await started({ database }, (r) => r.on('*', (event) => seen.push(event.traceId)));
    const { deliveries } = await next.receiver.quarantine.list();
    const released = await next.receiver.quarantine.release(deliveries[0]?.id ?? 0);
    expect(released).toEqual({ status: 'accepted', traceId: 't-1' });
    await next.logs.until('run_done');
    expect(seen).toEqual(['t-1']);
  });
});

test(
  'the transcript of a day passes the default limits, with as many timed words as a body holds',
  { tags: 'long' },
  async () => {
    const word = (index: number) => `{"word":"w${index % 10}","start":${index}.2,"end":${index}.9}`;
    const words = Array.from({ length: 110_000 }, (_, index) => word(index)).join();
    const { receiver, logs } = await started({}, (r) => r.on('*', () => {}));
    const body = bodyWith('t-1', `[${words}]`);
    expect(body.length).toBeGreaterThan(4_500_000);
    expect((await deliver(receiver, body)).json.status).toBe('accepted');
    await logs.until('run_done');
  },
);

test.each([
  ['small', ''],
  ['large', filler],
])('integers that a number would round are kept in a %s body, for every handler', async (_size, more) => {
  const seen: unknown[] = [];
  const see = (event: {
    callId: string | undefined;
    occurredAtNs: bigint;
    payload: Record<string, unknown>;
  }) => seen.push([event.callId, event.occurredAtNs, event.payload['found']]);
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'first' }, see).on('*', { name: 'second' }, see),
  );
  await deliver(
    receiver,
    bodyWith('t-1', `[-9007199254740993,9007199254740991,"1",0.1234567890123456]`, more),
  );
  await logs.until('run_done', 2);
  const found = ['-9007199254740993', 9007199254740991, '1', 0.1234567890123456];
  const expected = ['9234567890123456789', BigInt(nanoseconds), found];
  expect(seen).toEqual([expected, expected]);
  expect((await receiver.events.get('t-1'))?.body['payload']).toMatchObject({ found });
});

test('a large body is read in many turns of the event loop, and other deliveries are answered meanwhile', async () => {
  const { receiver } = await started();
  let turns = 0;
  let timer = setImmediate(function next() {
    turns += 1;
    timer = setImmediate(next);
  });
  onTestFinished(() => clearImmediate(timer));
  const large = deliver(receiver, bodyWith('t-1', `[${'1,'.repeat(500_000)}1]`)).then(() => turns);
  const answered = [];
  for (let index = 0; index < 5; index += 1) answered.push(deliver(receiver).then(() => turns));
  const small = await Promise.all(answered);
  const last = await large;
  // A million characters are fifteen parts.
  expect(last).toBeGreaterThan(15);
  for (const turn of small) expect(turn).toBeLessThan(last);
});

test(
  'an event recorded under higher limits becomes a dead letter, and is run when they are raised again',
  { tags: 'long' },
  async () => {
    const database = temporaryDatabase();
    const gate = new Gate();
    const first = await started({ database, concurrency: 1 }, (r) =>
      r.on('*', { name: 'handler' }, gate.pass),
    );
    await deliver(first.receiver, bodyOf({ traceId: 'active' }));
    await deliver(first.receiver, bodyWith('t-1', `[${'1,'.repeat(100)}1]`));
    await gate.reached;
    const stopping = first.receiver.stop();
    gate.open();
    await stopping;

    const seen: string[] = [];
    const handle = { name: 'handler' };
    const lowered = await started({ database, limits: { values: 50 } }, (r) =>
      r.on('*', handle, (event) => seen.push(event.traceId)),
    );
    expect(await lowered.logs.until('event_unreadable')).toMatchObject([{ reason: 'too_complex' }]);
    await lowered.receiver.stop();

    const raised = await started({ database }, (r) => r.on('*', handle, (event) => seen.push(event.traceId)));
    expect(await deadLettersOf(raised.receiver)).toMatchObject([{ traceId: 't-1' }]);
    await raised.receiver.events.replay({ traceId: 't-1' });
    await raised.logs.until('run_done');
    expect(seen).toEqual(['t-1']);
  },
);

test('large events that wait in the inbox are handled in order within their call', async () => {
  const database = temporaryDatabase();
  const traceIds = ['t-1', 't-2', 't-3', 't-4'];
  // Without handlers, all of them wait.
  const first = await started({ database }, () => {});
  for (const [index, traceId] of traceIds.entries()) {
    await deliver(first.receiver, bodyWith(traceId, '1', index % 2 === 0 ? filler : ''));
  }
  await first.receiver.stop();
  const seen: string[] = [];
  const next = await started({ database }, (r) => r.on('*', (event) => seen.push(event.traceId)));
  await next.logs.until('run_done', 4);
  expect(seen).toEqual(traceIds);
});
