import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readHeaders, writeHeaders } from '../../../src/store/sqlite/work/headers-text.ts';

const names = fc.constantFrom(
  'content-type',
  'user-agent',
  'x-webhook-event',
  'x-webhook-signature',
  'x-webhook-timestamp',
  'x-webhook-traceid',
  'x-webhook-other',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
  'constructor',
);
const texts = fc.oneof(fc.constantFrom('trace-1', 'CallHandler.CallEnded', '0', '1', ''), fc.string());

test('headers are read as they were written, whatever the event is called', () => {
  fc.assert(
    fc.property(
      fc.dictionary(names, fc.oneof(texts, fc.array(texts))),
      fc.record({ traceId: texts, eventName: texts }),
      (headers, told) => {
        expect(readHeaders(writeHeaders(headers, told), told)).toEqual({ ...headers });
      },
    ),
  );
});

test('what every delivery has takes little room', () => {
  const told = { traceId: '5f0c1b9e-7a53-4a3e-9d0e-6f2b7c1e0a4d', eventName: 'CallHandler.CallEnded' };
  const headers = {
    'content-type': 'application/json',
    'x-webhook-event': told.eventName,
    'x-webhook-traceid': told.traceId,
  };
  expect(writeHeaders(headers, told)).toBe('{"c":"application/json","e":1,"i":0}');
});
