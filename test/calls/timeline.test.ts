import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import { isOnPostgres } from '../support/inbox.ts';
import type { CallRecord, Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { type CallEventParts, deliverEvent, permutations } from './call-events.ts';
import { viewRowOf } from './view-row.ts';

/** The times of these events are made up, and may be years ago. */
const tolerance = '3650d';

type Reported = Omit<CallEventParts, 'callId' | 'traceId'>;

const timestamp = fc.option(
  fc
    .integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 0, 1, 0, 0, 3) })
    .map((milliseconds) => new Date(milliseconds).toISOString()),
  { nil: undefined },
);
const payload = fc.record(
  {
    agent_id: fc.constantFrom('agent_1', 'agent_2'),
    status: fc.constantFrom('success', 'failed', 'initiated'),
    transfer_to: fc.constantFrom('sip:one@example.com', 'sip:two@example.com'),
    metadata: fc.constant({ call_start_time: '2026-01-01T00:00:00Z', call_end_time: '2026-01-01T00:00:02Z' }),
    call_summary: fc.constant({ transfer_reason: 'asked for a person', customer_sentiment: 'neutral' }),
  },
  { requiredKeys: ['status', 'transfer_to'] },
);
const event: fc.Arbitrary<Reported> = fc.record({
  name: fc.constantFrom('started', 'ended', 'transferred', 'analysed'),
  timestamp,
  headerTimestamp: timestamp,
  payload,
});

/** Delivers the events of a call in this order; resolves to its record without the fields that differ in every call. */
async function recordAfter(
  receiver: Receiver,
  callId: string,
  order: readonly (Reported & { readonly index: number })[],
): Promise<CallRecord | undefined> {
  for (const { index, ...reported } of order) {
    await deliverEvent(receiver, { ...reported, callId, traceId: `${callId}/trace-${index}` });
  }
  const record = await receiver.calls.get(callId);
  return JSON.parse(JSON.stringify(record).replaceAll(`${callId}/`, '').replaceAll(callId, '')) as CallRecord;
}

describe("a call's record", () => {
  test('is the same for the same events, in every order and with every repetition', async () => {
    const { receiver } = await started({ tolerance, clock: new ManualClock(), logger: { level: 'silent' } });
    let calls = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(3), { maxLength: 3 }),
        async (reported, repeated) => {
          const numbered = reported.map((parts, index) => ({ ...parts, index }));
          const records = new Set<string>();
          for (const order of permutations(numbered)) {
            const again = repeated.flatMap((index) => order[index] ?? []);
            calls += 1;
            const record = await recordAfter(receiver, `call-${calls}`, [...again, ...order, ...again]);
            expect(record?.events).toHaveLength(reported.length);
            records.add(JSON.stringify(record));
          }
          expect([...records]).toHaveLength(1);
        },
      ),
      { numRuns: isOnPostgres ? 10 : 40 },
    );
  });

  test.skipIf(isOnPostgres)('is what the view "calls" shows to any SQL tool', async () => {
    const { receiver } = await started({ tolerance, clock: new ManualClock() });
    const row = receiver.database.prepare('select * from calls where call_id = ?');
    let calls = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 5 }), async (reported) => {
        calls += 1;
        const callId = `call-${calls}`;
        for (const [index, parts] of reported.entries()) {
          await deliverEvent(receiver, { ...parts, callId, traceId: `${callId}/${index}` });
          expect(row.get(callId)).toEqual(viewRowOf(await receiver.calls.get(callId)));
        }
      }),
      { numRuns: 100 },
    );
  });

  test('knows every part of a call, by the times of its events', async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1, 12));
    const { receiver } = await started({ tolerance, clock });
    const at = (seconds: number) => `2026-01-01T11:00:${String(seconds).padStart(2, '0')}.000Z`;
    const call = { callId: 'call-1' };
    await deliverEvent(receiver, { ...call, name: 'analysed', traceId: 't-4', timestamp: at(50) });
    clock.advance(1_000);
    await deliverEvent(receiver, {
      ...call,
      name: 'transferred',
      traceId: 't-2',
      timestamp: at(31),
      payload: { call_summary: { transfer_reason: 'asked for a person', customer_sentiment: 'angry' } },
    });
    clock.advance(1_000);
    await deliverEvent(receiver, { ...call, name: 'ended', traceId: 't-3', timestamp: at(42) });
    clock.advance(1_000);
    await deliverEvent(receiver, { ...call, name: 'started', traceId: 't-1', timestamp: at(2) });
    expect(await receiver.calls.get('call-1')).toEqual({
      callId: 'call-1',
      organizationId: 'org_example',
      agentId: 'agent_1',
      status: 'analysed',
      startedAt: new Date(at(2)),
      endedAt: new Date(at(42)),
      durationMs: 40_000,
      transfer: {
        destination: 'sip:support@example.com',
        status: 'initiated',
        reason: 'asked for a person',
        sentiment: 'angry',
        at: new Date(at(31)),
      },
      analysis: { status: 'completed', reason: undefined, at: new Date(at(50)) },
      events: [
        { name: 'CallHandler.CallStarted', occurredAt: new Date(at(2)), traceId: 't-1' },
        { name: 'CallHandler.CallTransferred', occurredAt: new Date(at(31)), traceId: 't-2' },
        { name: 'CallHandler.CallEnded', occurredAt: new Date(at(42)), traceId: 't-3' },
        { name: 'callAnalysis.pcaCompleted', occurredAt: new Date(at(50)), traceId: 't-4' },
      ].map((reported) => ({ ...reported, receivedAt: expect.any(Date) as Date })),
      firstSeenAt: new Date(Date.UTC(2026, 0, 1, 12)),
      lastSeenAt: new Date(Date.UTC(2026, 0, 1, 12, 0, 3)),
    });
  });

  test.each<[string, Partial<Reported>, Partial<Reported>, number | undefined]>([
    [
      'both events have a time of their own',
      { timestamp: '2026-01-01T00:00:00Z' },
      { timestamp: '2026-01-01T00:01:00Z' },
      60_000,
    ],
    [
      'the end has only that of its delivery',
      { timestamp: '2026-01-01T00:00:00Z' },
      { headerTimestamp: '2026-01-01T00:01:00Z' },
      undefined,
    ],
    [
      'the start has only that of its delivery',
      { headerTimestamp: '2026-01-01T00:00:00Z' },
      { timestamp: '2026-01-01T00:01:00Z' },
      undefined,
    ],
    ['neither has any', {}, {}, undefined],
    [
      'the end lies before the start',
      { timestamp: '2026-01-01T00:01:00Z' },
      { timestamp: '2026-01-01T00:00:00Z' },
      undefined,
    ],
  ])('has a duration only from times of the events: %s', async (_, start, end, duration) => {
    const clock = new ManualClock();
    const { receiver } = await started({ tolerance, clock });
    await deliverEvent(receiver, { name: 'started', callId: 'call-1', traceId: 't-1', ...start });
    clock.advance(7_000);
    await deliverEvent(receiver, { name: 'ended', callId: 'call-1', traceId: 't-2', ...end });
    expect((await receiver.calls.get('call-1'))?.durationMs).toBe(duration);
  });

  test('has no duration without a start, although it has ended', async () => {
    const { receiver } = await started();
    await deliverEvent(receiver, {
      name: 'ended',
      callId: 'call-1',
      traceId: 't-1',
      timestamp: '2026-01-01T00:00:00Z',
    });
    expect(await receiver.calls.get('call-1')).toMatchObject({
      status: 'ended',
      startedAt: undefined,
      endedAt: new Date('2026-01-01T00:00:00Z'),
      durationMs: undefined,
    });
  });

  test('treats a time of zero as none', async () => {
    const { receiver } = await started({ tolerance });
    const metadata = { call_start_time: 0, call_end_time: '2026-01-01T00:00:00Z' };
    await deliverEvent(receiver, {
      name: 'transferred',
      callId: 'call-1',
      traceId: 't-1',
      timestamp: '2026-01-01T00:00:00Z',
      payload: { metadata },
    });
    expect(await receiver.calls.get('call-1')).toMatchObject({ startedAt: undefined, durationMs: undefined });
  });

  test('is what ctx.call() gives, events included that have arrived since', async () => {
    const statuses: unknown[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r.on('CallHandler.CallStarted', async (reported, context) => {
        await deliverEvent(receiver, { name: 'ended', callId: String(reported.callId), traceId: 't-2' });
        statuses.push((await context.call())?.status);
      }),
    );
    await deliverEvent(receiver, { name: 'started', callId: 'call-1', traceId: 't-1' });
    await logs.until('run_done');
    expect(statuses).toEqual(['ended']);
  });
});

describe('receiver.calls.list', () => {
  test('gives pages, those first seen latest first, and no page twice', async () => {
    const { receiver } = await started();
    for (let index = 0; index < 10; index += 1) {
      await deliverEvent(receiver, { name: 'started', callId: `call-${index}`, traceId: `t-${index}` });
    }
    await deliverEvent(receiver, { name: 'ended', callId: 'call-0', traceId: 't-end' });
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const page = await receiver.calls.list({ limit: 5, ...(cursor !== undefined && { cursor }) });
      pages.push(page.calls.map((call) => call.callId));
      ({ cursor } = page);
    } while (cursor !== undefined);
    expect(pages).toEqual([
      ['call-9', 'call-8', 'call-7', 'call-6', 'call-5'],
      ['call-4', 'call-3', 'call-2', 'call-1', 'call-0'],
    ]);
  });

  test('narrows by agent, status and the arrival of the first event', async () => {
    const clock = new ManualClock();
    const { receiver } = await started({ tolerance, clock });
    const start = clock.now();
    await deliverEvent(receiver, { name: 'started', callId: 'one', traceId: 't-1' });
    clock.advance(1_000);
    await deliverEvent(receiver, {
      name: 'ended',
      callId: 'two',
      traceId: 't-2',
      payload: { agent_id: 'agent_2' },
    });
    clock.advance(1_000);
    await deliverEvent(receiver, { name: 'analysed', callId: 'three', traceId: 't-3' });
    const idsOf = async (query: Parameters<Receiver['calls']['list']>[0]) =>
      (await receiver.calls.list(query)).calls.map((call) => call.callId);
    expect(await idsOf({ agentId: 'agent_2' })).toEqual(['two']);
    expect(await idsOf({ status: 'in_progress' })).toEqual(['one']);
    expect(await idsOf({ since: start + 1_000 })).toEqual(['three', 'two']);
    expect(await idsOf({ until: new Date(start + 1_000) })).toEqual(['one']);
    expect(await idsOf({ since: new Date(start + 1_000).toISOString(), until: start + 2_000 })).toEqual([
      'two',
    ]);
    expect(await idsOf({ limit: 1, status: 'analysed' })).toEqual(['three']);
    expect(await receiver.calls.get('four')).toBeUndefined();
  });

  test.each<[unknown, string]>([
    [{ status: 'over' }, "'in_progress', 'ended', 'transferred' or 'analysed'"],
    [{ limit: 1_001 }, '1 to 1000'],
    [{ since: 'yesterday' }, 'ISO 8601'],
    [{ cursor: 'next' }, 'cursor'],
    [{ agent: 'agent_1' }, 'agentId'],
  ])('refuses %j and says what it expects', async (query, expected) => {
    const { receiver } = await started();
    await expect(receiver.calls.list(query as never)).rejects.toThrow(expected);
  });

  test('fails with a sentence before the start and after the stop', async () => {
    const { receiver } = await started();
    await receiver.stop();
    await expect(receiver.calls.list()).rejects.toMatchObject({ code: 'receiver_not_started' });
    await expect(receiver.calls.get('call-1')).rejects.toMatchObject({ code: 'receiver_not_started' });
  });
});
