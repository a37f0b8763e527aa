import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import {
  ConfigError,
  Discard,
  type EventFilter,
  type EventQuery,
  type Receiver,
  RetryLater,
} from '../support/public.ts';
import { made, started } from '../support/receiver.ts';

const hour = 3_600_000;
const begin = Date.UTC(2026, 0, 1);

/** Four events, an hour apart: done, with a dead letter, waiting to be tried again, and being handled. */
async function fourEvents(): Promise<{ receiver: Receiver; gate: Gate }> {
  const clock = new ManualClock(begin);
  const gate = new Gate();
  const { receiver, logs } = await started({ clock }, (r) =>
    r
      .on('CallHandler.CallEnded', { name: 'save' }, () => {})
      .on('CallHandler.CallEnded', { name: 'crm-sync' }, ({ traceId }) => {
        if (traceId === 'trace-dead') throw new Discard('no such customer');
      })
      .on('callAnalysis.pcaCompleted', { name: 'later' }, () => {
        throw new RetryLater('30d', 'not yet');
      })
      .on('CallHandler.CallStarted', { name: 'slow', timeout: '30d' }, gate.pass),
  );
  const send = (event: Parameters<typeof bodyOf>[0]) => {
    const body = bodyOf(event);
    return deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
  };
  await send({ traceId: 'trace-done', callId: 'call-1' });
  await logs.until('run_done', 2);
  clock.advance(hour);
  await send({ traceId: 'trace-dead', callId: 'call-2', payload: { agent_id: 'agent_2' } });
  await logs.until('run_done', 3);
  await logs.until('run_dead');
  clock.advance(hour);
  await send({ traceId: 'trace-open', callId: 'call-1', eventName: 'callAnalysis.pcaCompleted' });
  await logs.until('run_retry');
  clock.advance(hour);
  await send({ traceId: 'trace-new', callId: 'call-3', eventName: 'CallHandler.CallStarted' });
  await gate.reached;
  return { receiver, gate };
}

const traceIdsOf = (page: { events: readonly { traceId: string }[] }) =>
  page.events.map(({ traceId }) => traceId);

describe('events.get', () => {
  test('gives the bytes as they arrived, from which JavaScript would make others', async () => {
    const { receiver } = await started();
    const written =
      '{ "traceId": "trace-1",\t"payload": { "call_id": 12345678901234567890, "cost": 1.0 } }\n';
    await deliver(receiver, written);
    const event = await receiver.events.get('trace-1');
    expect(Buffer.from(event?.raw ?? []).toString()).toBe(written);
  });

  test('gives an event with its state, body, headers, times and stored runs', { tags: 'long' }, async () => {
    const { receiver, gate } = await fourEvents();
    expect(await receiver.events.get('trace-dead')).toEqual({
      traceId: 'trace-dead',
      source: 'delivered',
      eventName: 'CallHandler.CallEnded',
      callId: 'call-2',
      organizationId: 'org_example',
      agentId: 'agent_2',
      state: 'done',
      occurredAt: new Date(begin + hour),
      receivedAt: new Date(begin + hour),
      headers: expect.objectContaining({ 'content-type': 'application/json' }),
      body: expect.objectContaining({ traceId: 'trace-dead' }),
      raw: expect.any(Uint8Array),
      runs: expect.arrayContaining([
        {
          handler: 'crm-sync',
          state: 'dead',
          attempts: 1,
          dueAt: undefined,
          reason: 'no such customer',
          settledAt: new Date(begin + hour),
          replay: undefined,
          failures: [expect.objectContaining({ attempt: 1, outcome: 'dead', reason: 'no such customer' })],
        },
      ]),
    });
    expect(await receiver.events.get('trace-open')).toMatchObject({
      state: 'open',
      runs: [
        {
          handler: 'later',
          state: 'due',
          dueAt: new Date(begin + 2 * hour + 720 * hour),
          reason: 'not yet',
          settledAt: undefined,
        },
      ],
    });
    expect(await receiver.events.get('trace-new')).toMatchObject({ state: 'new', runs: [] });
    expect(await receiver.events.get('trace-none')).toBeUndefined();
    gate.open();
  });
});

describe('events.list', () => {
  test(
    'gives events by each filter and by several at once, latest first, without bodies',
    { tags: 'long' },
    async () => {
      const { receiver, gate } = await fourEvents();
      const cases: [EventFilter, string[]][] = [
        [{}, ['new', 'open', 'dead', 'done']],
        [{ eventName: 'CallHandler.CallEnded' }, ['dead', 'done']],
        [{ callId: 'call-1' }, ['open', 'done']],
        [{ agentId: 'agent_2' }, ['dead']],
        [{ state: 'new' }, ['new']],
        [{ state: 'open' }, ['open']],
        [{ state: 'done' }, ['dead', 'done']],
        [{ state: 'dead' }, ['dead']],
        [{ state: 'dead', handler: 'crm-sync' }, ['dead']],
        [{ state: 'dead', handler: 'save' }, []],
        [{ handler: 'later' }, ['open']],
        [{ since: new Date(begin + hour) }, ['new', 'open', 'dead']],
        [{ until: new Date(begin + hour).toISOString() }, ['done']],
        [{ since: begin + hour, until: begin + 2 * hour }, ['dead']],
        [{ since: '2020-01-31', until: '2199-12-31' }, ['new', 'open', 'dead', 'done']],
        [{ since: '2199-12-31' }, []],
        // `performance.timeOrigin + performance.now()` has fractions, and `Number.MAX_VALUE` is more than Postgres takes.
        [{ since: begin + hour - 0.5 }, ['new', 'open', 'dead']],
        [{ since: begin + hour + 0.5 }, ['new', 'open']],
        [{ until: begin + hour + 0.5 }, ['dead', 'done']],
        [{ since: -Number.MAX_VALUE, until: Number.MAX_VALUE }, ['new', 'open', 'dead', 'done']],
        [{ traceId: 'trace-d' }, []],
        [{ traceId: 'trace-dead' }, ['dead']],
        [{ traceId: '%' }, []],
        [
          { state: 'done', agentId: 'agent_1', callId: 'call-1', eventName: 'CallHandler.CallEnded' },
          ['done'],
        ],
        [{ eventName: undefined, state: 'open' }, ['open']],
      ];
      for (const [filter, expected] of cases) {
        const page = await receiver.events.list(filter);
        expect(traceIdsOf(page), JSON.stringify(filter)).toEqual(expected.map((name) => `trace-${name}`));
        expect(page.cursor).toBeUndefined();
      }
      const [first] = (await receiver.events.list({ state: 'dead' })).events;
      expect(Object.keys(first ?? {})).not.toContain('body');
      gate.open();
    },
  );

  test('says what is wrong with the second argument, of calls too', async () => {
    const { receiver } = await started();
    for (const list of ['events', 'calls'] as const)
      for (const [given, said] of [
        [null, `The option ${list}.list(options) should be an object with signal, but is null.`],
        [{ signal: 'now' }, `The option signal in ${list}.list should be an AbortSignal, but is "now".`],
        [{ sginal: undefined }, 'There is no option sginal'],
      ] as const) {
        const asked = receiver[list].list({}, given as never);
        await expect(asked).rejects.toThrow(said);
        await expect(asked).rejects.toThrow(ConfigError);
      }
    const signal = AbortSignal.timeout(2 ** 30);
    expect((await receiver.events.list({}, { signal })).events).toEqual([]);
    expect((await receiver.calls.list({}, { signal })).calls).toEqual([]);
  });

  test('gives pages that together are the whole, while new events arrive', async () => {
    const { receiver } = await started();
    const expected = Array.from({ length: 7 }, (_, index) => `trace-${index}`);
    for (const traceId of expected) await deliver(receiver, bodyOf({ traceId }));
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await receiver.events.list({ limit: 3, ...(cursor !== undefined && { cursor }) });
      found.push(...traceIdsOf(page));
      cursor = page.cursor;
      await deliver(receiver);
    } while (cursor !== undefined);
    expect(found).toEqual(expected.toReversed());
  });

  test('takes a cursor of a larger inbox for one right behind the last event', async () => {
    const [{ receiver: larger }, { receiver }] = [await started(), await started()];
    const bodies = ['1', '2', '3', '4'].map((n) => bodyOf({ traceId: `trace-${n}`, callId: `call-${n}` }));
    for (const body of bodies) await deliver(larger, body);
    for (const body of bodies.slice(0, 1)) await deliver(receiver, body);
    const { cursor } = await larger.events.list({ limit: 1 });
    expect(traceIdsOf(await receiver.events.list({ cursor }))).toEqual(['trace-1']);
    const calls = await larger.calls.list({ limit: 1 });
    expect((await receiver.calls.list({ cursor: calls.cursor })).calls).toMatchObject([{ callId: 'call-1' }]);
  });

  test.each<[unknown, string]>([
    [{ call: 'x' }, 'There is no option call in events.list'],
    [{ callId: '' }, 'callId in events.list should be text that is not empty'],
    [
      { state: 'failed' },
      "state in events.list should be 'new', 'open', 'done' or 'dead', but is \"failed\"",
    ],
    [{ since: 'yesterday' }, 'since in events.list should be a Date, milliseconds since 1970, or ISO 8601'],
    [{ since: '20991231' }, 'such as 2026-01-31T12:00:00Z or 2026-01-31, but is "20991231"'],
    [{ until: '1767225600' }, 'such as 2026-01-31T12:00:00Z or 2026-01-31, but is "1767225600"'],
    [{ since: '2026-02-30' }, 'but is "2026-02-30"'],
    [{ limit: 1_001 }, 'limit in events.list should be a whole number from 1 to 1000'],
    [{ cursor: 'x' }, 'cursor in events.list should be the cursor of another page'],
  ])('refuses %j and says why', async (query, sentence) => {
    const { receiver } = await started();
    await expect(receiver.events.list(query as EventQuery)).rejects.toThrow(sentence);
  });
});

test('looking and replaying before start are refused, and say so', async () => {
  const { receiver } = made();
  for (const call of [
    () => receiver.events.get('trace'),
    () => receiver.events.list(),
    () => receiver.events.replay({ state: 'dead' }),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'receiver_not_started' });
  }
});
