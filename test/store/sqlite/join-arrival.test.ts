import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/connection/connection.ts';
import type { JoinArrival } from '../../../src/store/shared/join-progress.ts';
import { prepareJoins } from '../../../src/store/sqlite/work/joins.ts';
import { type Sequence, callKey } from '../../../src/store/event-record.ts';
import { claimDue, handlerOf, presentTime } from '../parts.ts';
import { openedSqlite } from './opened-sqlite.ts';

const callId = 'call-1';

/** A join that waits for two events of a call, before either has arrived. */
function opened() {
  const database = openDatabase(':memory:');
  onTestFinished(() => void database.close());
  const insert = database.prepare(`
    insert into events (sequence, trace_id, event_name, call_id, call_key, occurred_at, received_at, facts)
    values (@sequence, 'trace-' || @sequence, @eventName, '${callId}', ${callKey(callId)}, 0, @receivedAt, '{}')`);
  const joins = prepareJoins(database, {
    holdsEvent: () => true,
    holdsRun: () => true,
    endClaim: () => {},
  });
  const arrival = (sequence: number, eventName: string): JoinArrival => ({
    process: 1,
    sequence,
    callId,
    handler: 'join',
    eventName,
    events: ['first', 'second'],
    within: 60_000,
    runsAgain: true,
    isLast: true,
    now: presentTime,
  });
  return {
    come: (sequence: number, eventName: string, receivedAt: number) => {
      insert.run({ sequence, eventName, receivedAt });
      joins.arrive(arrival(sequence, eventName));
    },
    forget: (sequence: number) => {
      database.pragma('foreign_keys = off');
      database.prepare('delete from events where sequence = ?').run(sequence);
    },
    dueAt: () => database.prepare('select due_at from runs').pluck().all(),
  };
}

test('a join learns what is there of a call from each event as it comes', () => {
  const { come, dueAt } = opened();
  come(1, 'first', presentTime - 1_000);
  expect(dueAt()).toEqual([presentTime + 59_000]);
  come(2, 'first', presentTime);
  expect(dueAt()).toEqual([presentTime + 59_000]);
  come(3, 'second', presentTime);
  expect(dueAt()).toEqual([presentTime]);
});

test('a join never reads an event of a call again: what has arrived counts, even if it is not there any more', () => {
  const { come, forget, dueAt } = opened();
  come(1, 'first', presentTime);
  come(2, 'first', presentTime);
  forget(1);
  forget(2);
  come(3, 'second', presentTime);
  expect(dueAt()).toEqual([presentTime]);
});

test('looking back begins with the lowest sequence of all that arrived since, whenever that one did', async () => {
  const store = await openedSqlite();
  // The first event arrived last: the clock was set back after it.
  store.database.exec(`
    with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < 20050)
    insert into events (sequence, trace_id, event_name, call_id, call_key, occurred_at, received_at, facts)
    select number, 'trace-' || number, iif(number = 1, 'first', 'another'), '${callId}', ${callKey(callId)}, 0,
      ${presentTime} + 20050 - number, '{}' from numbers`);
  store.database.exec("insert into bodies select sequence, '{}', '' from events");
  const terms = { events: ['first'], within: 60_000, runsAgain: false };
  let after: Sequence | undefined;
  do after = await store.calls.lookBack({ ...terms, handler: 'join', since: presentTime, after });
  while (after !== undefined);
  expect(await claimDue(store, handlerOf('join', { join: terms }))).toMatchObject([{ traceId: 'trace-1' }]);
});
