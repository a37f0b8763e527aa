import { describe, expect, test } from 'vitest';
import { BodyDecoder, unlimited } from '../../src/events/decoding.ts';
import { readBytes } from '../../src/events/read-event.ts';

async function read(body: object) {
  const bytes = { body: Buffer.from(JSON.stringify(body)), headers: {}, receivedAt: 0 };
  const reading = await readBytes(new BodyDecoder(unlimited), bytes);
  if (!reading.ok) throw new Error(reading.reason);
  return reading.event;
}

const transferred = { eventName: 'CallHandler.CallTransferred', traceId: 'trace-1' };
const payload = { call_id: 'call-1', transfer_to: '+15550100' };

describe('a long list', () => {
  const right = Array.from({ length: 5_000 }, (_, turn) => ({ role: 'user', content: `turn ${turn}` }));

  test('is on the payload whole', async () => {
    const { payload: found } = await read({ ...transferred, payload: { ...payload, transcript: right } });
    expect(found['transcript']).toEqual(right);
  });

  test('has its items as they were sent', async () => {
    const sent = [{ role: 'user', content: null }, ...right];
    const { payload: found, issues } = await read({
      ...transferred,
      payload: { ...payload, transcript: sent },
    });
    expect(issues).toEqual([]);
    expect(found['transcript']).toEqual(sent);
  });

  test.each([
    ['transcript', (list: unknown) => ({ transcript: list }), 'payload.transcript.0'],
    [
      'list in another object',
      (list: unknown) => ({ call_summary: { topics_discussed: list } }),
      'payload.call_summary.topics_discussed.0',
    ],
  ])('of wrong items is reported by its first ones: a %s', async (_where, wrap, path) => {
    const { issues } = await read({ ...transferred, payload: { ...payload, ...wrap(right.map(() => 1)) } });
    expect(issues).toHaveLength(100);
    expect(issues[0]?.path).toBe(path);
  });
});

describe('a large body', () => {
  const large = { ...payload, note: 'n'.repeat(100_000) };

  test('is converted where it is documented, and keeps everything else', async () => {
    const transcript = [{ role: 'user', content: 'hello', more: [1] }, { role: null }];
    const caller = { phone_number: 15550100, name: { first: 'Ann' } };
    const sent = { ...transferred, payload: { ...large, call_id: 7, agent_id: null, caller, transcript } };
    const event = await read(sent);
    expect(event.issues).toEqual([]);
    expect(event.body).toEqual(sent);
    expect(event.payload).toEqual({
      ...large,
      call_id: '7',
      caller: { phone_number: '15550100', name: { first: 'Ann' } },
      transcript: [transcript[0], {}],
    });
  });

  test('shares nothing that is documented with the body, which stays as it was sent', async () => {
    const { payload: found, body } = await read({
      ...transferred,
      payload: { ...large, caller: { name: 'Ann' }, transcript: [{ content: 'hello' }] },
    });
    Object.assign(found['caller'] as object, { name: 'changed' });
    Object.assign((found['transcript'] as object[])[0] as object, { content: 'changed' });
    expect(body['payload']).toMatchObject({ caller: { name: 'Ann' }, transcript: [{ content: 'hello' }] });
  });
});

describe('an id', () => {
  test.each([
    ['of 512 characters', 'c'.repeat(512), 'c'.repeat(512)],
    ['of 513 characters', 'c'.repeat(513), undefined],
    ['of 256 emoji, which are 512 units of a string', '👋'.repeat(256), '👋'.repeat(256)],
    ['of 257 emoji', '👋'.repeat(257), undefined],
    ['with half a surrogate pair', 'call-\ud800', undefined],
    ['with U+0000', 'call-\0', undefined],
  ])('%s identifies a call, or is an issue', async (_, sent, found) => {
    const { callId, issues } = await read({ ...transferred, payload: { ...payload, call_id: sent } });
    expect(callId).toBe(found);
    expect(issues.map(({ path }) => path)).toEqual(found === undefined ? ['payload.call_id'] : []);
  });
});
