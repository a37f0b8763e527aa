import { describe, expect, test } from 'vitest';
import { readBytes } from '../../src/events/read-bytes.ts';

function read(body: object) {
  const reading = readBytes(Buffer.from(JSON.stringify(body)), {}, 0);
  if (!reading.ok) throw new Error(reading.reason);
  return reading.event;
}

const transferred = { eventName: 'CallHandler.CallTransferred', traceId: 'trace-1' };
const payload = { call_id: 'call-1', transfer_to: '+15550100' };

describe('a long list', () => {
  const right = Array.from({ length: 5_000 }, (_, turn) => ({ role: 'user', content: `turn ${turn}` }));

  test('is on the payload whole', () => {
    expect(
      read({ ...transferred, payload: { ...payload, transcript: right } }).payload['transcript'],
    ).toEqual(right);
  });

  test('of wrong items is told by its first ones', () => {
    const { issues } = read({ ...transferred, payload: { ...payload, transcript: right.map(() => 1) } });
    expect(issues).toHaveLength(100);
    expect(issues[0]?.path).toBe('payload.transcript.0');
  });
});

describe('an id', () => {
  test.each([
    ['of 512 characters', 'c'.repeat(512), 'c'.repeat(512)],
    ['of 513 characters', 'c'.repeat(513), undefined],
    ['with half a surrogate pair', 'call-\ud800', undefined],
  ])('%s identifies a call or none', (_, sent, found) => {
    expect(read({ ...transferred, payload: { ...payload, call_id: sent } }).callId).toBe(found);
  });
});
