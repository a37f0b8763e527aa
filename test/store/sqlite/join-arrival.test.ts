import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/connection/connection.ts';
import type { JoinArrival } from '../../../src/store/shared/join-progress.ts';
import { prepareJoins } from '../../../src/store/sqlite/work/joins.ts';
import { callKey } from '../../../src/store/event-record.ts';
import { presentTime } from '../parts.ts';

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
