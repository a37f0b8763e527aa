/** The receiver knows every field of the platform's document: another type of it is drift, and its own is none. */
import { expect, test } from 'vitest';
import { turn } from '../support/clock.ts';
import { deliver } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';

type Fields = Record<string, unknown>;

const envelope = (eventName: string, payload: Fields): Fields => ({
  traceId: 'trace-1',
  organizationId: 'org_1',
  payload,
  eventName,
  event: eventName.slice(eventName.indexOf('.') + 1),
  timestamp: '2026-03-02T09:15:42.123456789Z',
});

const payload = { call_id: 'call-1', agent_id: 'agent_1', status: 'success' };
const transfer = {
  ...payload,
  status: 'initiated',
  transfer_to: 'sip:desk@example.com',
  caller: { phone_number: '+12025550100' },
  call_summary: {
    duration_seconds: 42.5,
    topics_discussed: ['delivery'],
    actions_taken: ['looked it up'],
    transfer_reason: 'asked for a person',
    customer_sentiment: 'neutral',
    unresolved_issues: [],
  },
  transcript: [{ role: 'agent', content: 'Hello' }],
  metadata: {
    call_start_time: '2026-03-02T09:15:00Z',
    call_end_time: '2026-03-02T09:15:42Z',
    language: 'en-US',
  },
};

const bodies = {
  started: envelope('CallHandler.CallStarted', payload),
  ended: envelope('CallHandler.CallEnded', payload),
  analysed: envelope('callAnalysis.pcaCompleted', {
    ...payload,
    reason: 'done',
    timestamp: 1_772_442_942_123,
  }),
  wrapped: envelope('CallHandler.CallTransferred', transfer),
  flat: transfer,
} as const;

/** What is unusual about a body, in the words of `receiver.drift`. */
async function driftOf(body: Fields): Promise<string[]> {
  const { receiver } = await started();
  expect((await deliver(receiver, JSON.stringify(body))).status).toBe(200);
  for (;;) {
    const { events } = await receiver.counts();
    if (events.new + events.open === 0) break;
    await turn();
  }
  return (await receiver.drift.list()).map(({ kind, path }) => `${kind} ${path}`);
}

test.each(Object.entries(bodies))('%s with all its fields is as the document says', async (_, body) => {
  expect(await driftOf(body)).toEqual([]);
});

/** A copy with another value at a path, whose steps are separated by dots. */
function changed(body: Fields, path: string, value: unknown): Fields {
  const copy: Fields = structuredClone(body);
  const steps = path.split('.');
  const last = steps.pop() ?? '';
  const parent = steps.reduce((inner, step) => inner[step] as Fields, copy);
  parent[last] = value;
  return copy;
}

test.each<[keyof typeof bodies, string, unknown]>([
  ['ended', 'organizationId', true],
  ['ended', 'event', 1],
  ['ended', 'timestamp', true],
  ['ended', 'payload', 'call-1'],
  ['ended', 'payload.call_id', true],
  ['ended', 'payload.agent_id', true],
  ['ended', 'payload.status', 1],
  ['started', 'payload.call_id', true],
  ['started', 'payload.agent_id', true],
  ['started', 'payload.status', 1],
  ['analysed', 'payload.call_id', true],
  ['analysed', 'payload.agent_id', true],
  ['analysed', 'payload.status', 1],
  ['analysed', 'payload.reason', 1],
  ['analysed', 'payload.timestamp', true],
  ['wrapped', 'payload.call_id', true],
  ['wrapped', 'payload.agent_id', true],
  ['wrapped', 'payload.status', 1],
  ['wrapped', 'payload.transfer_to', true],
  ['wrapped', 'payload.caller.phone_number', true],
  ['wrapped', 'payload.call_summary.duration_seconds', '42'],
  ['wrapped', 'payload.call_summary.topics_discussed', 'delivery'],
  ['wrapped', 'payload.call_summary.actions_taken', 'looked it up'],
  ['wrapped', 'payload.call_summary.transfer_reason', 1],
  ['wrapped', 'payload.call_summary.customer_sentiment', 1],
  ['wrapped', 'payload.call_summary.unresolved_issues', 'none'],
  ['wrapped', 'payload.transcript', 'Hello'],
  ['wrapped', 'payload.metadata.call_start_time', true],
  ['wrapped', 'payload.metadata.call_end_time', true],
  ['wrapped', 'payload.metadata.language', 1],
])('in %s, another type of %s is noticed', async (name, path, value) => {
  expect(await driftOf(changed(bodies[name], path, value))).toEqual([`type_changed ${path}`]);
});

test.each([
  ['role', 1],
  ['content', 1],
])('in a transcript, another type of %s is noticed', async (field, value) => {
  const body = changed(bodies.wrapped, `payload.transcript.0.${field}`, value);
  expect(await driftOf(body)).toEqual([`type_changed payload.transcript[].${field}`]);
});

test.each(['reason', 'timestamp'])('%s is a field of an analysis only', async (field) => {
  const value = field === 'reason' ? 'done' : 1;
  expect(await driftOf(changed(bodies.ended, `payload.${field}`, value))).toEqual([
    `unknown_field payload.${field}`,
  ]);
});

test.each([
  ['a status of a call', 'ended', 'payload.status', 'busy'],
  ['a status of a transfer', 'wrapped', 'payload.status', 'parked'],
  ['a sentiment', 'wrapped', 'payload.call_summary.customer_sentiment', 'furious'],
] as const)('%s that the document does not list is noticed, and taken', async (_, name, path, value) => {
  expect(await driftOf(changed(bodies[name], path, value))).toEqual([`unknown_value ${path}`]);
});
