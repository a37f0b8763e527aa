import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { callRecordOf, type CallFacts } from '../../../src/calls/timeline.ts';
import { openedSqlite } from './opened-sqlite.ts';
import { eventOf, record } from '../parts.ts';
import { names } from '../../calls/call-events.ts';
import { viewRowOf } from '../../calls/view-row.ts';

/** Few different values, so that times often collide and it matters which event takes precedence. */
const time = fc
  .oneof(fc.nat(2), fc.integer({ min: -1, max: 99_999_999 }))
  .map((ms) => Date.UTC(2026, 0) + ms);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const word = fc.constantFrom('', 'a', '"quoted" \\ and\nbroken', "it's 😀 \u0000 null", '{"$":1}', '17');
const facts: fc.Arbitrary<CallFacts> = fc.record({
  agentId: maybe(word),
  status: maybe(fc.constantFrom('failed', 'completed', '')),
  reason: maybe(word),
  destination: maybe(word),
  sentiment: maybe(word),
  callStart: maybe(time),
  callEnd: maybe(time),
  source: fc.constantFrom('body', 'body', 'header', 'arrival'),
});
/** Two events may have one trace id: one in its body, the other in its header. */
const event = fc.record({
  callId: fc.constantFrom('call-1', "call-2's", 'call-😀'),
  traceId: fc.constantFrom('t-1', 't-2', 't-3', 't-10', 'U-1'),
  eventName: fc.constantFrom(...Object.values(names), 'Another.Event'),
  organizationId: maybe(word.filter((text) => text !== '')),
  occurredAt: time,
  receivedAt: time,
  facts,
});

test('the view "calls" has one row a call, which says what the record says, column by column', async () => {
  let runs = 0;
  // One inbox for several calls, so that data of one call in the row of another would be noticed.
  const store = await openedSqlite();
  const allRows = store.database.prepare('select * from calls');
  const rowOf = store.database.prepare('select * from calls where call_id = ?');
  const clear = store.database.prepare('delete from events');
  await fc.assert(
    fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 9 }), async (events) => {
      runs += 1;
      clear.run();
      for (const [index, parts] of events.entries()) {
        await record(store, eventOf(parts.traceId, { ...parts, identities: [`${runs}-${index}`] }));
      }
      const callIds = [...new Set(events.map(({ callId }) => callId))];
      const expected = await Promise.all(
        callIds.map(async (callId) => viewRowOf(callRecordOf(callId, await store.calls.eventsOf(callId)))),
      );
      expect(new Set(allRows.all())).toEqual(new Set(expected));
      expect(callIds.map((callId) => rowOf.get(callId))).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});

test('the view "calls" leaves out events without a call', async () => {
  const store = await openedSqlite();
  await record(store, eventOf('t-1', { callId: undefined }));
  expect(store.database.prepare('select * from calls').all()).toEqual([]);
});
