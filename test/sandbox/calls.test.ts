import { expect, test } from 'vitest';
import type { CallPlan, PlayedCall } from '../../src/sandbox/index.ts';
import { ManualClock } from '../support/clock.ts';
import { subscribed } from './delivery-subscription.ts';
import { type Received, destination } from './destination.ts';
import { startedSandbox } from './support.ts';

const speed = 10_000;
const names = {
  started: 'CallHandler.CallStarted',
  ended: 'CallHandler.CallEnded',
  transferred: 'CallHandler.CallTransferred',
  analysed: 'callAnalysis.pcaCompleted',
} as const;

/** Plays a call with a manual clock, so that its events come one by one; resolves to the call and its deliveries. */
async function played(
  plan: CallPlan,
): Promise<{ call: PlayedCall; bodies: Received['json'][]; all: Received[] }> {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const sandbox = await startedSandbox({ clock, callSeed: 1 });
  const { url, received } = await destination();
  await subscribed(sandbox, url);
  const call = sandbox.calls.begin({ duration: '60s', analysisAfter: '10s', callId: 'call_1', ...plan });
  for (const [index, { happensAt }] of call.events.entries()) {
    clock.advance(happensAt - clock.now());
    await expect.poll(() => sandbox.attempts.list().length).toBe(index + 1);
  }
  await sandbox.deliveries.settled();
  return { call, bodies: received.map(({ json }) => json), all: [...received] };
}

/** The envelope, with exactly the fields of the document's table. */
function envelopeOf(call: PlayedCall, eventName: string, event: string, timestamp: unknown, payload: object) {
  const traceId = call.events.find((each) => each.eventName === eventName)?.traceId;
  return { traceId, organizationId: call.organizationId, payload, eventName, event, timestamp };
}

test('a call starts, ends and is analysed, in the bodies of the document', async () => {
  const { call, bodies } = await played({ scenario: 'completed', timestamps: 'iso' });
  const ids = { call_id: 'call_1', agent_id: call.agentId };
  const nanoseconds = (time: string) =>
    expect.stringMatching(new RegExp(`^2026-01-01T${time}\\.000\\d{6}Z$`));
  expect(bodies).toStrictEqual([
    envelopeOf(call, names.started, 'CallStarted', nanoseconds('00:00:00'), { ...ids, status: 'success' }),
    envelopeOf(call, names.ended, 'CallEnded', nanoseconds('00:01:00'), { ...ids, status: 'success' }),
    envelopeOf(call, names.analysed, 'pcaCompleted', nanoseconds('00:01:10'), {
      ...ids,
      status: 'success',
      reason: 'analysis finished',
      timestamp: Date.UTC(2026, 0, 1, 0, 1, 10),
    }),
  ]);
});

test('times can be UNIX seconds', async () => {
  const { bodies } = await played({ scenario: 'completed', timestamps: 'seconds' });
  const start = Date.UTC(2026, 0, 1) / 1_000;
  expect(bodies.map(({ timestamp }) => timestamp)).toEqual([start, start + 60, start + 70]);
});

test('a call without an analysis ends with its end', async () => {
  const { call, bodies } = await played({ scenario: 'unanalysed' });
  expect(bodies.map(({ eventName }) => eventName)).toEqual([names.started, names.ended]);
  expect(call.analysis).toBeUndefined();
});

test('a call that fails says so in its end and in its analysis', async () => {
  const { bodies } = await played({ scenario: 'failed' });
  expect(bodies.map(({ payload }) => (payload as { status: string }).status)).toEqual([
    'success',
    'failed',
    'failed',
  ]);
});

/** The document's table "Call transfer event body", with exactly its fields. */
const transferBody = {
  call_id: 'call_1',
  agent_id: expect.any(String),
  status: 'initiated',
  transfer_to: expect.stringMatching(/^(sip:|\+|\d)/),
  caller: { phone_number: expect.stringMatching(/^\+\d{11}$/) },
  call_summary: {
    duration_seconds: expect.any(Number),
    topics_discussed: expect.any(Array),
    actions_taken: expect.any(Array),
    transfer_reason: expect.any(String),
    customer_sentiment: 'negative',
    unresolved_issues: expect.any(Array),
  },
  transcript: expect.arrayContaining([
    { role: 'agent', content: expect.any(String) },
    { role: 'user', content: expect.any(String) },
  ]),
  metadata: {
    call_start_time: '2026-01-01T00:00:00.000Z',
    call_end_time: expect.stringMatching(/^2026-01-01T00:00:\d\d\.\d{3}Z$/),
    language: expect.stringMatching(/^[a-z]{2}-[A-Z]{2}$/),
  },
};
const transfer = { scenario: 'transferred', transferStatus: 'initiated', sentiment: 'negative' } as const;

test('a transfer comes before the end, flat as in the sample: its name and its trace id are in the headers', async () => {
  const { call, bodies, all } = await played({ ...transfer, transferBody: 'flat' });
  expect(bodies[1]).toStrictEqual(transferBody);
  expect(all[1]?.headers).toMatchObject({
    'x-webhook-event': names.transferred,
    'x-webhook-traceid': call.events[1]?.traceId,
  });
  expect(bodies.map(({ eventName }) => eventName)).toEqual([
    names.started,
    undefined,
    names.ended,
    names.analysed,
  ]);
});

test('a transfer can come in the envelope', async () => {
  const { call, bodies } = await played({ ...transfer, transferBody: 'wrapped' });
  expect(bodies[1]).toStrictEqual(
    envelopeOf(call, names.transferred, 'CallTransferred', bodies[1]?.['timestamp'], transferBody),
  );
});

test('what a plan leaves open is drawn: every scenario, both bodies, both ways of writing times', async () => {
  const sandbox = await startedSandbox({ speed, callSeed: 'many' });
  const calls = await Promise.all(Array.from({ length: 200 }, () => sandbox.calls.play()));
  const different = (read: (call: PlayedCall) => unknown) =>
    new Set(calls.map(read).filter((it) => it !== undefined));
  expect(different(({ scenario }) => scenario).size).toBe(4);
  expect(different(({ timestamps }) => timestamps).size).toBe(2);
  expect(different((call) => call.transfer?.isWrapped).size).toBe(2);
  expect(different((call) => call.transfer?.sentiment).size).toBe(3);
  expect(different((call) => call.transfer?.status).size).toBe(4);
  expect(different(({ callId }) => callId).size).toBe(200);
  expect(different(({ events }) => events[0]?.traceId).size).toBe(200);
  for (const { startedAt, endedAt, analysis } of calls) {
    expect(endedAt - startedAt).toBeGreaterThanOrEqual(4_000);
    expect(endedAt - startedAt).toBeLessThanOrEqual(301_000);
    // Platform document: typically 1 to 30 seconds after the end. Whole seconds are cut off, not rounded.
    if (analysis) expect((analysis.at - endedAt) / 1_000).toBeGreaterThanOrEqual(1);
    if (analysis) expect((analysis.at - endedAt) / 1_000).toBeLessThanOrEqual(31);
  }
});

test('the same seed plays the same calls, whatever is played beside them', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  const [one, other, another] = await Promise.all(
    ['seed', 'seed', 'another seed'].map((callSeed) => startedSandbox({ clock, callSeed })),
  );
  const calls = Array.from({ length: 20 }, () => one?.calls.begin());
  expect(Array.from({ length: 20 }, () => other?.calls.begin())).toEqual(calls);
  expect(another?.calls.begin()).not.toEqual(calls[0]);
  // Fields that the plan gives don't change the others.
  const given = other?.calls.begin({ callId: 'given', scenario: 'failed' });
  const { callerNumber, language, timestamps } = one?.calls.begin() ?? {};
  expect(given).toMatchObject({ callId: 'given', scenario: 'failed', callerNumber, language, timestamps });
});

test('a call that is played faster lasts as long as it says, and no event lies in the future', async () => {
  const sandbox = await startedSandbox({ speed });
  const call = await sandbox.calls.play({ scenario: 'completed', duration: '5m', analysisAfter: '20s' });
  expect(call.endedAt - call.startedAt).toBeGreaterThanOrEqual(299_000);
  expect(call.events.every(({ occurredAt = 0, happensAt }) => occurredAt <= happensAt)).toBe(true);
});

test('a call can be read back, after a restart as well', async () => {
  const sandbox = await startedSandbox({ speed });
  const call = await sandbox.calls.play({ scenario: 'transferred', callId: 'call 7/ü' });
  expect(sandbox.calls.get('call 7/ü')).toEqual(call);
  expect(sandbox.calls.get('another')).toBeUndefined();
});

test('a refused plan names the function that was called', async () => {
  const sandbox = await startedSandbox({ speed });
  expect(() => sandbox.calls.begin({ agentId: 'nobody' })).toThrow('agentId in calls.begin should be');
  expect(() => sandbox.calls.begin({ callId: ' ' })).toThrow('callId in calls.begin should be');
  await expect(sandbox.calls.play({ agentId: 'nobody' })).rejects.toThrow('agentId in calls.play should be');
});

for (const [plan, message] of [
  [{ callId: ' ' }, 'callId in calls.play should be text that is not blank'],
  [{ scenario: 'other' }, "should be 'completed', 'transferred', 'unanalysed' or 'failed'"],
  [{ duration: '2d' }, 'at most a day'],
  [{ agentId: 'nobody' }, 'agentId in calls.play should be the id of an agent, but is "nobody"'],
  [{ organizationId: 'nobody' }, 'should be an organization with an agent, but is "nobody"'],
  [{ scenaro: 'failed' }, 'Did you mean scenario?'],
] as const) {
  test(`the plan ${JSON.stringify(plan)} is refused in a sentence`, async () => {
    const sandbox = await startedSandbox({ speed });
    await expect(sandbox.calls.play(plan as CallPlan)).rejects.toThrow(message);
  });
}

test('a call id can be played once', async () => {
  const sandbox = await startedSandbox({ speed });
  await sandbox.calls.play({ callId: 'call_1' });
  await expect(sandbox.calls.play({ callId: 'call_1' })).rejects.toThrow(
    'should be the id of a new call, but is that of a call played before',
  );
});
