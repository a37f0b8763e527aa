import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { knownEventNames } from '../../src/events/names.ts';
import { plainShapeOf, readPlain, unusual } from '../../src/events/plain-reader.ts';
import { payloadSchemas } from '../../src/events/schemas.ts';

const text = fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom('', ' ', 'success', 'negative'));
/** What a field may hold instead of what is documented. */
const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(Infinity));
/** Mostly documented values: of payloads with random values, hardly one would match its documentation. */
const mostly = (usual: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 30, arbitrary: usual }, { weight: 1, arbitrary: odd });
const record = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc
    .tuple(
      fc.record(fields, { requiredKeys: [] }),
      fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }),
    )
    .map(([documented, others]) => ({ ...others, ...documented }));

const payloads = record({
  call_id: mostly(text),
  agent_id: mostly(text),
  status: mostly(text),
  reason: mostly(text),
  timestamp: mostly(fc.oneof(text, fc.integer())),
  transfer_to: mostly(text),
  caller: mostly(record({ phone_number: mostly(text) })),
  call_summary: mostly(
    record({
      duration_seconds: mostly(fc.integer()),
      topics_discussed: mostly(fc.array(mostly(text), { maxLength: 3 })),
      customer_sentiment: mostly(text),
    }),
  ),
  transcript: mostly(
    fc.array(mostly(record({ role: mostly(text), content: mostly(text) })), { maxLength: 3 }),
  ),
  metadata: mostly(record({ call_start_time: mostly(fc.oneof(text, fc.double())), language: mostly(text) })),
});

describe('readPlain', () => {
  test.each(knownEventNames)('reads of %s only what its schema takes, and reads the same', (eventName) => {
    const schema = payloadSchemas[eventName];
    const shape = plainShapeOf(schema);
    let plain = 0;
    fc.assert(
      fc.property(payloads, (payload) => {
        const found = readPlain(shape, payload);
        if (found === unusual) return;
        plain += 1;
        expect(schema.safeParse(payload)).toEqual({ success: true, data: found });
      }),
      { numRuns: 500 },
    );
    expect(plain).toBeGreaterThan(20);
  });

  test('gives a copy of everything that the schema copies', () => {
    const caller = { phone_number: '+15550100' };
    const payload = { call_id: '1', transfer_to: 'sip:a', caller, transcript: [{ role: 'user' }] };
    const found = readPlain(plainShapeOf(payloadSchemas['CallHandler.CallTransferred']), payload);
    expect(found).toEqual(payload);
    const { transcript, ...copy } = found as typeof payload;
    expect([copy.caller === caller, transcript === payload.transcript]).toEqual([false, false]);
    expect(transcript[0]).not.toBe(payload.transcript[0]);
  });

  test.each([
    ['a check', z.looseObject({ a: z.number().min(3) }), { a: 1 }],
    ['a check on a list', z.array(z.string()).max(1), ['a', 'b']],
    ['a transformation that changes the value', z.string().transform(Number), '1'],
    ['a kind that events do not have', z.date(), new Date(0)],
    ['unknown fields left out', z.object({ a: z.string() }), { a: 'a', b: 'b' }],
    ['one of several objects', z.union([z.looseObject({}), z.looseObject({ a: z.string() })]), { a: 'a' }],
    ['a schema behind a schema', z.string().pipe(z.string().max(1)), 'ab'],
    ['a field named __proto__', z.looseObject({}), JSON.parse('{"__proto__":{}}')],
    ['a list of too many', z.array(z.string()), Array.from({ length: 1_001 }, () => 'a')],
  ])('leaves to the schema: %s', (_what, schema, value) => {
    expect(readPlain(plainShapeOf(schema), value)).toBe(unusual);
  });
});
