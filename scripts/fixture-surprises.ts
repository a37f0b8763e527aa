import { eventNames } from '../src/events/names.ts';
import { endedAt, enveloped, headers, transfer } from './fixture-parts.ts';
import type { Fixture } from './fixture-parts.ts';

const { callEnded, callTransferred } = eventNames;

/** Events that the platform might send, since its payloads change without notice. */
export const unexpected: Readonly<Record<string, Fixture>> = {
  'unknown-fields': enveloped('A wrapped transfer with unknown fields at every level.', callTransferred, {
    traceId: 'trace-unknown-fields',
    envelope: { schemaVersion: 2, region: { name: 'north' } },
    payload: transfer({
      queue: 'second-line',
      caller: { phone_number: '+12025550101', country: 'US' },
      call_summary: { duration_seconds: 12, language_confidence: 0.98 },
      transcript: [{ role: 'supervisor', content: 'Hello.', offset_ms: 1200 }],
      metadata: { language: 'en-US', carrier: 'example' },
    }),
  }),
  'unknown-event': enveloped('An event that nobody knows yet.', 'CallHandler.CallPaused', {
    traceId: 'trace-unknown-event',
    payload: { paused_by: 'agent' },
  }),
  'null-fields': enveloped('A call ended; optional fields are null.', callEnded, {
    traceId: 'trace-null-fields',
    payload: { agent_id: null, status: null },
  }),
  'other-names': {
    description: 'A call ended; ids have the other names that the platform uses for them.',
    headers: headers(callEnded, 'trace-other-names'),
    body: {
      traceId: 'trace-other-names',
      organization_id: 'org_example',
      payload: { _id: 'call_0003', ai_agent_id: 'agent_7f3a', status: 'success' },
      eventName: callEnded,
      timestamp: endedAt,
    },
  },
  'numeric-ids': enveloped('A call ended; ids are numbers.', callEnded, {
    traceId: 'trace-numeric-ids',
    envelope: { organizationId: 42 },
    payload: { call_id: 100200300, agent_id: 7 },
  }),
  'big-numeric-ids': {
    description: 'A call ended; ids are numbers of 19 digits, which a JavaScript number would round.',
    headers: headers(callEnded, '9007199254740993001'),
    rawBody:
      `{"traceId":9007199254740993001,"organizationId":"org_example","eventName":"${callEnded}",` +
      `"event":"CallEnded","timestamp":1772442942123456789,` +
      '"payload":{"call_id":1234567890123456789,"agent_id":"agent_7f3a","status":"success"}}',
  },
  'missing-call-id': {
    description: 'A call ended, but the payload has no call id: it goes to the fallback.',
    headers: headers(callEnded, 'trace-missing-call-id'),
    body: { traceId: 'trace-missing-call-id', eventName: callEnded, timestamp: endedAt, payload: {} },
  },
  'payload-not-an-object': {
    description: 'A call ended, but the payload is a string: it goes to the fallback.',
    headers: headers(callEnded, 'trace-payload-not-an-object'),
    body: {
      traceId: 'trace-payload-not-an-object',
      eventName: callEnded,
      timestamp: endedAt,
      payload: 'gone',
    },
  },
  'unreadable-not-json': {
    description: 'A body that breaks off: authentic, but not readable. It is quarantined.',
    headers: headers(callEnded, 'trace-unreadable-not-json'),
    rawBody: '{"traceId":"trace-unreadable-not-json","eventName":"CallHandler.CallEnded","payl',
  },
};

/** Events whose trace id is missing, is only in the header, or differs between header and body. */
export const identities: Readonly<Record<string, Fixture>> = {
  'trace-id-missing': {
    description:
      'A flat transfer without any trace id and without a name: known by its digest and its fields.',
    headers: { 'content-type': 'application/json', 'x-webhook-timestamp': endedAt },
    body: transfer({ call_id: 'call_0004' }),
  },
  'trace-id-header-only': {
    description: 'A call ended; only the header, which is not signed, has the trace id.',
    headers: headers(callEnded, 'trace-header-only'),
    body: { eventName: callEnded, timestamp: endedAt, payload: { call_id: 'call_0001', status: 'success' } },
  },
  'trace-id-differs': {
    ...enveloped('A call ended; header and body have different trace ids.', callEnded, {
      traceId: 'trace-body',
    }),
    headers: headers(callEnded, 'trace-header'),
  },
};
