// @module-tag long
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '../support/clock.ts';
import type { JoinOptions, Receiver } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { deliverEvent, names } from './call-events.ts';

const many = 100_000;
const heartbeats = 200;

const terms = {
  name: 'save-order',
  events: [names.ended, names.analysed],
  within: '1d',
} as const satisfies JoinOptions;

const joining = (receiver: Receiver) => receiver.onCall(terms, () => {});

type Method = (this: unknown, ...values: unknown[]) => unknown;

/** Counts the statements that this thread runs until the test ends, and the rows that they read or write. */
function countedWork(): () => number {
  const statements: object = Object.getPrototypeOf(new Database(':memory:').prepare('select 1'));
  let count = 0;
  const replace = (name: string, replacement: (method: Method) => Method) => {
    const method = Reflect.get(statements, name) as Method;
    Reflect.set(statements, name, replacement(method));
    onTestFinished(() => void Reflect.set(statements, name, method));
  };
  for (const name of ['get', 'all', 'run']) {
    replace(
      name,
      (method) =>
        function (this: unknown, ...values) {
          const result = method.apply(this, values);
          count += 1 + rowsOf(result);
          return result;
        },
    );
  }
  replace(
    'iterate',
    (method) =>
      function* (this: unknown, ...values) {
        count += 1;
        for (const row of method.apply(this, values) as Iterable<unknown>) {
          count += 1;
          yield row;
        }
      },
  );
  return () => count;
}

/** How many rows a statement has returned or changed. */
function rowsOf(result: unknown): number {
  if (Array.isArray(result)) return result.length;
  return (result as Partial<Database.RunResult> | undefined)?.changes ?? 1;
}

/** A database with one open join and `count` copies of it. */
async function withOpenJoins(clock: ManualClock, count: number): Promise<string> {
  const database = temporaryDatabase();
  const { receiver } = await started({ clock, database }, joining);
  await deliverEvent(receiver, { name: 'ended', callId: 'call', traceId: 'trace' });
  await clock.timer(86_400_000);
  const copies = `with recursive copies (n) as (select 1 union all select n + 1 from copies where n < ${count})`;
  // Copies all rows of the first join in SQL; delivering as many events would take a minute.
  receiver.database.transaction(() => {
    for (const sql of [
      `${copies} insert into events
         select sequence + n, trace_id || n, event_name, call_id || n, call_key + n, organization_id, agent_id,
           occurred_at, received_at, facts, source from events, copies where call_id = 'call'`,
      `${copies} insert into bodies select sequence + n, headers, body from bodies, copies`,
      'insert into call_events select sequence >> 16 as era, call_key, sequence from events order by era, call_key, sequence',
      `update event_totals set last_sequence = (select max(sequence) from events),
         indexed_sequence = (select max(sequence) from events), events = (select count(*) from events)`,
      `${copies} insert into runs (sequence, handler, call_id, state, attempts, due_at)
         select sequence + n, handler, call_id || n, state, attempts, due_at from runs, copies where call_id = 'call'`,
      `${copies} insert into joins (handler, call_id) select handler, call_id || n from joins, copies
         where call_id = 'call'`,
    ]) {
      receiver.database.exec(sql);
    }
  });
  // Beyond a hundred thousand nobody counts.
  expect((await receiver.counts()).runs.due).toBe(Math.min(count + 1, 100_000));
  await receiver.stop();
  return database;
}

/** The work of a receiver with `count` more open joins, from its start on and while it waits. */
async function workOf(count: number, work: () => number): Promise<number> {
  const clock = new ManualClock();
  const database = await withOpenJoins(clock, count);
  const { receiver } = made({ clock, database });
  joining(receiver);
  const before = work();
  await receiver.start();
  for (let heartbeat = 0; heartbeat < heartbeats; heartbeat += 1) {
    await clock.timer(2_000);
    clock.advance(2_000);
  }
  const done = work() - before;
  expect((await receiver.counts()).runs.running).toBe(0);
  await receiver.stop();
  return done;
}

test('a hundred thousand open joins are not read one by one, at the start or while they wait', async () => {
  const work = countedWork();
  const few = await workOf(1, work);
  const full = await workOf(many, work);
  // The events from before the start are looked at once, some hundreds with each statement.
  expect(full - few).toBeLessThan(many / 10);
});
