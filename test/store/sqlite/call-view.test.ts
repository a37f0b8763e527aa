// @module-tag long
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { callRecordOf } from '../../../src/calls/timeline.ts';
import { openedSqlite } from './opened-sqlite.ts';
import { eventOf, record } from '../parts.ts';
import { callEvent } from '../../calls/arbitrary-events.ts';
import { viewRowOf } from '../../calls/view-row.ts';

test('the view "calls" has one row a call, which says what the record says, column by column', async () => {
  let runs = 0;
  // One inbox for several calls, so that data of one call in the row of another would be noticed.
  const store = await openedSqlite();
  const allRows = store.database.prepare('select * from calls');
  const rowOf = store.database.prepare('select * from calls where call_id = ?');
  const clear = store.database.prepare('delete from events');
  await fc.assert(
    fc.asyncProperty(fc.array(callEvent, { minLength: 1, maxLength: 9 }), async (events) => {
      runs += 1;
      clear.run();
      for (const [index, parts] of events.entries()) {
        await record(store, eventOf(parts.traceId, { ...parts, identity: `${runs}-${index}` }));
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
