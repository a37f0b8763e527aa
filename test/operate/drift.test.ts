import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import type { DriftFinding, Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { isOnPostgres, storeIn } from '../support/inbox.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const ended = 'CallHandler.CallEnded';
const transferred = 'CallHandler.CallTransferred';

/** Delivers a body that has a trace id of its own. */
function send(receiver: Receiver, body: Readonly<Record<string, unknown>>) {
  const text = JSON.stringify({ traceId: crypto.randomUUID(), ...body });
  return deliver(receiver, text);
}

/** What was found in all that was acknowledged: it is compared after its answer, and before it is handled. */
async function findingsOf(receiver: Receiver): Promise<readonly DriftFinding[]> {
  for (;;) {
    const { events } = await receiver.counts();
    if (events.new + events.open === 0) return receiver.drift.list();
    await turn();
  }
}

const ledgerOf = async (receiver: Receiver) =>
  (await findingsOf(receiver)).map(({ eventName, path, kind, count }) => ({ eventName, path, kind, count }));

/** The findings after a single event. */
async function foundIn(body: Readonly<Record<string, unknown>>) {
  const { receiver } = await started();
  expect((await send(receiver, body)).json.status).toBe('accepted');
  return (await ledgerOf(receiver)).map(({ path, kind }) => `${kind} ${path}`).toSorted();
}

describe('what counts as drift', () => {
  test('an unknown field of the envelope, of the payload, and inside it; unknown ones are not looked into', async () => {
    const payload = {
      call_id: 'c1',
      transfer_to: 'sip:desk@example.com',
      novel: { inner: 1 },
      caller: { phone_number: '+10000000000', mood: 'fine' },
      transcript: [
        { role: 'user', content: 'hello', at: 1 },
        { role: 'agent', content: 'hello', at: 2 },
      ],
    };
    expect(await foundIn({ eventName: transferred, region: 'x', payload })).toEqual([
      'unknown_field payload.caller.mood',
      'unknown_field payload.novel',
      'unknown_field payload.transcript[].at',
      'unknown_field region',
    ]);
  });

  test('a field whose type changed', async () => {
    const payload = {
      call_id: 'c1',
      transfer_to: 'sip:desk@example.com',
      caller: 'somebody',
      call_summary: { duration_seconds: '12', topics_discussed: [{ name: 'x' }, 'y'] },
      transcript: 'hello',
    };
    expect(await foundIn({ eventName: transferred, event: 7, payload })).toEqual([
      'type_changed event',
      'type_changed payload.call_summary.duration_seconds',
      'type_changed payload.call_summary.topics_discussed[]',
      'type_changed payload.caller',
      'type_changed payload.transcript',
    ]);
  });

  test('a payload that is no longer an object', async () => {
    expect(await foundIn({ eventName: ended, payload: 'call c1' })).toEqual(['type_changed payload']);
  });

  test('an unknown value of each documented enumeration', async () => {
    const payload = {
      call_id: 'c1',
      transfer_to: 'sip:desk@example.com',
      status: 'parked',
      call_summary: { customer_sentiment: 'furious' },
      transcript: [{ role: 'supervisor', content: 'hello' }],
    };
    expect(await foundIn({ eventName: transferred, payload })).toEqual([
      'unknown_value payload.call_summary.customer_sentiment',
      'unknown_value payload.status',
      'unknown_value payload.transcript[].role',
    ]);
    expect(await foundIn({ eventName: ended, payload: { call_id: 'c1', status: 'initiated' } })).toEqual([
      'unknown_value payload.status',
    ]);
  });

  test('a required field that is null, but none that is missing', async () => {
    expect(await foundIn({ eventName: ended, payload: { call_id: null } })).toEqual([
      'type_changed payload.call_id',
    ]);
    expect(await foundIn({ eventName: ended, payload: {} })).toEqual([]);
  });

  test('an unknown event', async () => {
    const { receiver } = await started();
    await send(receiver, { eventName: 'CallHandler.CallParked', payload: { call_id: 'c1', anything: 1 } });
    expect(await ledgerOf(receiver)).toEqual([
      { eventName: 'CallHandler.CallParked', path: '', kind: 'unknown_event', count: 1 },
    ]);
  });

  test.each([
    'call-started',
    'call-ended',
    'call-transferred-flat',
    'call-transferred-wrapped',
    'pca-completed',
    'numeric-ids',
    'null-fields',
    'other-names',
  ])(
    'nothing in %s: documented, flat or wrapped, numeric or null, or under another known name',
    async (name) => {
      const file = new URL(`../../fixtures/${name}.json`, import.meta.url);
      const { body } = JSON.parse(readFileSync(file, 'utf8')) as { body: Record<string, unknown> };
      const { receiver } = await started();
      await deliver(receiver, JSON.stringify(body));
      expect(await findingsOf(receiver)).toEqual([]);
    },
  );
});

describe('the table of drift', () => {
  test('counts events, says when, and logs each departure the first time only', async () => {
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock });
    const begun = clock.now();
    const body = () => bodyOf({ payload: { novel: 'a secret value' } });
    const take = (text: string) => deliver(receiver, text, signedHeaders(text, { timestamp: clock.now() }));
    await take(body());
    await logs.until('event_unhandled');
    clock.advance(5_000);
    await logs.until('drift_seen');
    await take(body());
    await take(body());
    expect(await findingsOf(receiver)).toEqual<DriftFinding[]>([
      {
        eventName: ended,
        path: 'payload.novel',
        kind: 'unknown_field',
        firstSeenAt: new Date(begun),
        lastSeenAt: new Date(begun + 5_000),
        count: 3,
      },
    ]);
    expect(logs.of('drift_seen')).toMatchObject([
      { eventName: ended, path: 'payload.novel', kind: 'unknown_field' },
    ]);
    expect(JSON.stringify(logs.lines)).not.toContain('a secret value');
  });

  test('does not count duplicates, nor what is not authentic', async () => {
    const { receiver } = await started();
    const body = bodyOf({ payload: { novel: 1 } });
    await deliver(receiver, body);
    await deliver(receiver, body);
    await deliver(receiver, body, signedHeaders(body, { secrets: otherSecret }));
    expect(await ledgerOf(receiver)).toMatchObject([{ count: 1 }]);
  });

  test('is written at stop, survives a restart, and is logged as new once', async () => {
    const database = temporaryDatabase();
    const first = await started({ database });
    await deliver(first.receiver, bodyOf({ payload: { novel: 1 } }));
    await first.logs.until('event_unhandled');
    await first.receiver.stop();
    expect(first.logs.of('drift_seen')).toHaveLength(1);
    const { receiver, logs } = await started({ database });
    await deliver(receiver, bodyOf({ payload: { novel: 1 } }));
    expect(await ledgerOf(receiver)).toMatchObject([{ path: 'payload.novel', count: 2 }]);
    expect(logs.of('drift_seen')).toEqual([]);
  });

  test('never has a name that could be personal data', async () => {
    const payload = {
      '+1 202 555 0100': 1,
      'jane doe': 1,
      '5551234': 1,
      [`x${'y'.repeat(100)}`]: 1,
      call_summary: { 'jane@example.com': 1 },
    };
    const { receiver } = await started();
    await send(receiver, { eventName: transferred, payload: { ...payload, call_id: 'c', transfer_to: 't' } });
    await send(receiver, { eventName: 'call of Jane Doe', payload: {} });
    expect(await ledgerOf(receiver)).toEqual(
      expect.arrayContaining([
        { eventName: transferred, path: 'payload.*', kind: 'unknown_field', count: 1 },
        { eventName: transferred, path: 'payload.call_summary.*', kind: 'unknown_field', count: 1 },
        { eventName: '*', path: '', kind: 'unknown_event', count: 1 },
      ]),
    );
    expect(await ledgerOf(receiver)).toHaveLength(3);
  });

  test('takes at most 200 findings an event', async () => {
    const { receiver } = await started();
    const fields = (from: number) =>
      Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`field_${from + index}`, 1]));
    await send(receiver, { eventName: ended, payload: { call_id: 'c1', ...fields(0) } });
    await send(receiver, { eventName: ended, payload: { call_id: 'c2', ...fields(1_000) } });
    await send(receiver, { eventName: 'callAnalysis.pcaCompleted', payload: { call_id: 'c2', novel: 1 } });
    const ledger = await ledgerOf(receiver);
    expect(ledger.filter(({ eventName }) => eventName === ended)).toHaveLength(200);
    expect(ledger).toHaveLength(201);
  });

  test('ends after 10,000 values of an event, in a list as among fields', { tags: 'long' }, async () => {
    const topics = Array.from({ length: 12_000 }, (_, index) => `topic ${index}`);
    const inTransfer = (payload: object) =>
      foundIn({ eventName: transferred, payload: { call_id: 'c1', transfer_to: '+1', ...payload } });
    const inTopics = (list: unknown[]) => inTransfer({ call_summary: { topics_discussed: list } });
    const wrongTopic = 'type_changed payload.call_summary.topics_discussed[]';
    expect(await inTopics([5, ...topics])).toEqual([wrongTopic]);
    expect(await inTopics([...topics, 5])).toEqual([]);
    // Unknown names that don't look like field names count as one finding, however many there are.
    const many = Object.fromEntries(topics.map((topic) => [topic, 1]));
    const unknown = 'unknown_field payload.*';
    expect(await inTransfer({ caller: 5, ...many })).toEqual(['type_changed payload.caller', unknown]);
    expect(await inTransfer({ ...many, caller: 5 })).toEqual([unknown]);
  });

  test.skipIf(isOnPostgres)(
    'has at most 1,000 entries in all, and continues to count those',
    { tags: 'long' },
    async () => {
      const { receiver, logs } = await started();
      for (let index = 0; index < 1_020; index += 1) {
        await send(receiver, { eventName: `Novel.Event${index}`, payload: {} });
        if (index % 100 === 0) await receiver.drift.list();
      }
      await send(receiver, { eventName: 'Novel.Event1', payload: {} });
      const ledger = await findingsOf(receiver);
      expect(ledger).toHaveLength(1_000);
      expect(ledger.find(({ eventName }) => eventName === 'Novel.Event1')?.count).toBe(2);
      expect(logs.of('drift_seen')).toHaveLength(1_000);
    },
  );

  test('counts what is released from quarantine, by its own arrival', { tags: 'long' }, async () => {
    const database = temporaryDatabase();
    const wrong = await started({ database, secrets: otherSecret });
    await deliver(wrong.receiver, bodyOf({ payload: { novel: 1 } }));
    const { deliveries } = await wrong.receiver.quarantine.list();
    await wrong.receiver.stop();
    const { receiver } = await started({ database });
    await receiver.quarantine.reverify();
    expect(await findingsOf(receiver)).toMatchObject([
      { path: 'payload.novel', count: 1, firstSeenAt: deliveries[0]?.receivedAt },
    ]);
  });

  test('that could not be written is written later, and nothing is lost', async () => {
    const clock = new ManualClock();
    const store = storeIn(':memory:', clock);
    const { drift } = store;
    let failures = 1;
    const add: typeof drift.add = (rows) => {
      failures -= 1;
      return failures < 0 ? drift.add(rows) : Promise.reject(new Error('the disk is full'));
    };
    Object.assign(store, { drift: { add, list: () => drift.list() } });
    const { receiver, logs } = await started({ clock, database: store });
    const body = bodyOf({ payload: { novel: 1 } });
    await deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    await logs.until('event_unhandled');
    clock.advance(5_000);
    expect(await logs.until('drift_failed')).toMatchObject([{ cause: 'the disk is full' }]);
    await clock.timer(5_000);
    clock.advance(5_000);
    await logs.until('drift_seen');
    expect(await ledgerOf(receiver)).toMatchObject([{ path: 'payload.novel', count: 1 }]);
  });
});
