import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBody } from '../../src/events/decoding.ts';
import { knownEventNames } from '../../src/events/names.ts';
import { readEvent } from '../../src/events/read-event.ts';
import type { CallEvent, Headers } from '../../src/events/model.ts';

const bytes = Buffer.from('{}');
const digest = createHash('sha256').update(bytes).digest('hex');
const receivedAt = Date.UTC(2026, 2, 2, 9, 16);

function read(fields: Record<string, unknown>, headers: Headers = {}): CallEvent {
  return readEvent(fields, { body: bytes, headers, receivedAt }).event;
}

const ended = (payload: unknown, more: Record<string, unknown> = {}) => ({
  traceId: 't1',
  eventName: 'CallHandler.CallEnded',
  payload,
  ...more,
});

describe('the trace id', () => {
  it('is the one of the body, even when the header has another, and the difference is reported', () => {
    const fields = { traceId: 'body' };
    const result = readEvent(fields, { body: bytes, headers: { 'x-webhook-traceid': 'header' }, receivedAt });
    expect(result.event).toMatchObject({ traceId: 'body', traceIdSource: 'body' });
    expect(result.traceIdDiffers).toBe(true);
  });

  it('is not reported as different when both are equal, or one is missing', () => {
    const headers = { 'x-webhook-traceid': '7' };
    for (const fields of [{ traceId: '7' }, { traceId: 7 }, {}]) {
      expect(readEvent(fields, { body: bytes, headers, receivedAt }).traceIdDiffers).toBe(false);
    }
    expect(readEvent({ traceId: '7' }, { body: bytes, headers: {}, receivedAt }).traceIdDiffers).toBe(false);
  });

  it.each([undefined, null, '', '  ', {}, [], true, 'x'.repeat(513), 'half \ud800', 'zero \0'])(
    'comes from the header, then from the digest, when the body has %j',
    (traceId) => {
      expect(read({ traceId }, { 'x-webhook-traceid': 'h' })).toMatchObject({
        traceId: 'h',
        traceIdSource: 'header',
      });
      expect(read({ traceId })).toMatchObject({ traceId: `sha256:${digest}`, traceIdSource: 'digest' });
    },
  );

  it('is kept as it is up to 512 characters, and is a string when sent as a number', () => {
    expect(read({ traceId: 'x'.repeat(512) }).traceId).toBe('x'.repeat(512));
    expect(read({ traceId: 42 }).traceId).toBe('42');
  });

  it('is the first of a header sent twice', () => {
    expect(read({}, { 'x-webhook-traceid': ['one', 'two'] }).traceId).toBe('one');
  });
});

describe('the name', () => {
  it('is the one of the body, else of the header, else unknown', () => {
    const headers = { 'x-webhook-event': 'CallHandler.CallEnded' };
    expect(read({ eventName: 'A.B' }, headers).eventName).toBe('A.B');
    expect(read({ eventName: '' }, headers).eventName).toBe('CallHandler.CallEnded');
    expect(read({ payload: { call_id: 'c' } }).eventName).toBe('unknown');
  });

  it.each(['call_id', 'callId', '_id'])(
    'is that of a transfer when there is only transfer_to and %s',
    (name) => {
      const fields = { [name]: 'c', transfer_to: 'sip:x@example.com' };
      const expected = { eventName: 'CallHandler.CallTransferred', callId: 'c', issues: [] };
      expect(read(fields)).toMatchObject(expected);
      expect(read({ payload: fields })).toMatchObject(expected);
    },
  );

  it('is not that of a transfer when one of the two is missing', () => {
    expect(read({ transfer_to: 'sip:x@example.com' }).eventName).toBe('unknown');
    expect(read({ call_id: 'c' }).eventName).toBe('unknown');
  });
});

describe('the payload', () => {
  const transfer = {
    call_id: 'c',
    agent_id: 'a',
    transfer_to: '1001',
    transcript: [{ role: 'user', content: 'Hi' }],
  };
  const envelope = {
    traceId: 't',
    organizationId: 'o',
    eventName: 'CallHandler.CallTransferred',
    timestamp: 1767225600,
  };

  it('of a transfer has one shape, flat or wrapped, with or without an envelope around it', () => {
    const headers = { 'x-webhook-event': 'CallHandler.CallTransferred' };
    expect(read(transfer, headers).payload).toEqual(transfer);
    expect(read({ ...envelope, ...transfer }).payload).toEqual(transfer);
    expect(read({ ...envelope, payload: transfer }).payload).toEqual(transfer);
    expect(read({ ...envelope, ...transfer, payload: null }).payload).toEqual(transfer);
  });

  it('has ids under their documented names, whichever name and type they came with', () => {
    const event = read(ended({ _id: 100, ai_agent_id: 7, kept: 1 }, { organization_id: 5 }));
    expect(event.payload).toEqual({ call_id: '100', agent_id: '7', _id: 100, ai_agent_id: 7, kept: 1 });
    expect(event).toMatchObject({ callId: '100', organizationId: '5', issues: [] });
  });

  it('prefers the documented name, unless there is nothing in it', () => {
    expect(read(ended({ call_id: 'c', callId: 'other', _id: 'third' })).callId).toBe('c');
    expect(read(ended({ call_id: null, callId: 'other', _id: 'third' })).callId).toBe('other');
    expect(read(ended({ call_id: '', _id: 'third' })).callId).toBe('third');
  });

  it('of an unknown event keeps an _id to itself, which may be that of anything', () => {
    const event = read({ eventName: 'Agent.Updated', payload: { _id: 'agent_1' } });
    expect(event.callId).toBeUndefined();
    expect(event.payload).toEqual({ _id: 'agent_1' });
    expect(read({ eventName: 'Agent.Updated', payload: { callId: 3 } }).callId).toBe('3');
  });

  it('keeps unknown fields at every level, and the body is the very object that was sent', () => {
    const payload = {
      ...transfer,
      caller: { phone_number: '+12025550100', country: 'US' },
      extra: { a: [1] },
    };
    const body = { ...envelope, payload, more: true };
    const event = read(body);
    expect(event.payload).toEqual(payload);
    expect(event.body).toBe(body);
  });

  it('leaves out null where a documented field is optional; the body keeps it', () => {
    const event = read(ended({ call_id: 'c', agent_id: null, status: null, other: null }));
    expect(event.issues).toEqual([]);
    expect(event.payload).toEqual({ call_id: 'c', other: null });
    expect(event.body['payload']).toHaveProperty('agent_id', null);
  });

  it('accepts unknown values of an enumeration, and a timestamp of either type', () => {
    const name = 'callAnalysis.pcaCompleted';
    for (const timestamp of [1767225600000, '2026-01-01T00:00:00Z']) {
      const payload = { call_id: 'c', status: 'half-done', reason: '', timestamp };
      expect(read({ eventName: name, payload })).toMatchObject({ payload, issues: [] });
    }
  });

  it('never has __proto__ in it, so that copying it by assignment is harmless', () => {
    const decoded = decodeBody(
      Buffer.from('{"eventName":"A.B","payload":{"call_id":"c","__proto__":{"polluted":true}}}'),
    );
    if (!decoded.ok) throw new Error('should have been decoded');
    for (const eventName of ['A.B', ...knownEventNames]) {
      const { payload } = read({ ...decoded.value, eventName });
      expect(Object.getOwnPropertyNames(payload)).not.toContain('__proto__');
      expect(Object.getPrototypeOf(payload)).toBe(Object.prototype);
      expect(payload['polluted']).toBeUndefined();
    }
  });
});

describe('issues', () => {
  it.each(knownEventNames)(
    'are none for %s with its ids alone: no missing field keeps it from its handler',
    (name) => {
      const needed =
        name === 'CallHandler.CallTransferred' ? { call_id: 'c', transfer_to: '1001' } : { call_id: 'c' };
      expect(read({ eventName: name, payload: needed }).issues).toEqual([]);
    },
  );

  it.each([
    ['a call without its id', {}, ['payload.call_id']],
    ['a blank call id', { call_id: ' ' }, ['payload.call_id']],
    ['a call id that is too long', { call_id: 'c'.repeat(513) }, ['payload.call_id']],
    ['a call id with half of a pair', { call_id: 'c\ud800' }, ['payload.call_id']],
    ['a call id with U+0000', { call_id: 'c\0' }, ['payload.call_id']],
    ['a call id that is an object', { call_id: {} }, ['payload.call_id']],
    ['a status of another type than promised', { call_id: 'c', status: 5 }, ['payload.status']],
  ])('name the path of %s, never the value', (_name, payload, paths) => {
    const { issues } = read(ended(payload));
    expect(issues.map((issue) => issue.path)).toEqual(paths);
    expect(issues.every((issue) => issue.expected.startsWith('string'))).toBe(true);
  });

  it('name the place within a transfer', () => {
    const payload = { call_id: 'c', transfer_to: 5, transcript: [{ role: 'user' }, { content: 5 }] };
    expect(read({ eventName: 'CallHandler.CallTransferred', payload }).issues).toEqual([
      { path: 'payload.transcript.1.content', expected: 'string' },
    ]);
  });

  it.each(['text', 5, true, [[{ call_id: 'c' }]]])('say that the payload %j is not an object', (payload) => {
    expect(read(ended(payload)).issues).toContainEqual({ path: 'payload', expected: 'object' });
    expect(read({ eventName: 'A.B', payload }).issues).toEqual([]);
  });
});

describe('the time', () => {
  const header = { 'x-webhook-timestamp': '2026-03-02T09:15:00.000000002Z' };

  it('is the one of the body, to the nanosecond', () => {
    const event = read({ timestamp: '2026-03-02T11:15:42.123456789+02:00' }, header);
    expect(event).toMatchObject({
      timestamp: '2026-03-02T11:15:42.123456789+02:00',
      occurredAt: new Date('2026-03-02T09:15:42.123Z'),
      occurredAtNs: 1772442942123456789n,
      occurredAtSource: 'body',
    });
  });

  it.each([undefined, null, 'a moment ago', -5, 0, '0', '1970-01-01T00:00:00Z', {}])(
    'is the one of the header when the body has %j',
    (timestamp) => {
      const event = read({ timestamp }, header);
      expect(event).toMatchObject({ occurredAtNs: 1772442900000000002n, occurredAtSource: 'header' });
      const sent = typeof timestamp === 'string' || typeof timestamp === 'number';
      expect(event.timestamp).toBe(sent ? timestamp : header['x-webhook-timestamp']);
    },
  );

  it('is the arrival when neither can be read', () => {
    expect(read({ timestamp: 'now' }, { 'x-webhook-timestamp': 'then' })).toMatchObject({
      timestamp: 'now',
      occurredAt: new Date(receivedAt),
      occurredAtNs: BigInt(receivedAt) * 1_000_000n,
      occurredAtSource: 'arrival',
    });
    expect(read({}).timestamp).toBeUndefined();
    expect(read({}, { 'x-webhook-timestamp': '0' }).occurredAtSource).toBe('arrival');
  });
});

describe('readEvent', () => {
  const fields = [
    'traceId',
    'eventName',
    'payload',
    'timestamp',
    'call_id',
    'transfer_to',
    '__proto__',
    'transcript',
  ];
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom(...knownEventNames));
  const bodies = fc.dictionary(fc.oneof(fc.constantFrom(...fields), fc.string()), value);
  const headerSets = fc.dictionary(
    fc.constantFrom('x-webhook-event', 'x-webhook-traceid', 'x-webhook-timestamp'),
    fc.oneof(fc.string(), fc.constantFrom(...knownEventNames)),
  );

  it('reads any JSON object as an event, and never changes it', () => {
    fc.assert(
      fc.property(bodies, headerSets, (fieldsOfBody, headers) => {
        const text = JSON.stringify(fieldsOfBody);
        const decoded = decodeBody(Buffer.from(text));
        if (!decoded.ok) throw new Error('should have been decoded');
        const before = JSON.stringify(decoded.value);
        const event = read(decoded.value, headers);
        expect(event.traceId).not.toBe('');
        expect(event.eventName).not.toBe('');
        expect(Number.isNaN(event.occurredAt.getTime())).toBe(false);
        expect(JSON.stringify(event.body)).toBe(before);
      }),
      { numRuns: 500 },
    );
  });

  it('reads a flat and a wrapped transfer alike, whatever its optional fields', () => {
    const optional = fc.dictionary(fc.string(), fc.jsonValue());
    const taken = new Set(['traceId', 'organizationId', 'eventName', 'event', 'timestamp', 'payload']);
    fc.assert(
      fc.property(optional, (more) => {
        const others = Object.fromEntries(Object.entries(more).filter(([name]) => !taken.has(name)));
        const transfer = { ...others, call_id: 'c', transfer_to: '1001' };
        const flat = read(transfer);
        const wrapped = read({ eventName: 'CallHandler.CallTransferred', payload: transfer });
        expect(flat.payload).toEqual(wrapped.payload);
        expect(flat.issues).toEqual(wrapped.issues);
      }),
    );
  });
});
