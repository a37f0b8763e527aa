import { expect, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import type { JoinOptions, Receiver } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { names, tell } from './call-events.ts';

const many = 100_000;
const beats = 200;
/** In microseconds: far more than a start takes, and far less than it would take to look at every join. */
const longestStart = 1_000_000;

const terms = {
  name: 'save-order',
  events: [names.ended, names.analysed],
  within: '1d',
} as const satisfies JoinOptions;

const joining = (receiver: Receiver) => receiver.onCall(terms, () => {});

/** The CPU time that this process spends on `work`, in microseconds. */
async function usageOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** A database with one open join and `count` copies of it. */
async function withOpenJoins(clock: ManualClock, count: number): Promise<string> {
  const database = temporaryDatabase();
  const { receiver } = await started({ clock, database }, joining);
  await tell(receiver, { name: 'ended', callId: 'call', traceId: 'trace' });
  await clock.timer(86_400_000);
  const copies = `with recursive copies (n) as (select 1 union all select n + 1 from copies where n < ${count})`;
  // Copies all rows of the first join in SQL; delivering as many events would take a minute.
  receiver.database.transaction(() => {
    for (const sql of [
      `${copies} insert into events
         select sequence + n, trace_id || n, event_name, call_id || n, call_key + n, organization_id, agent_id,
           occurred_at, received_at, facts from events, copies where call_id = 'call'`,
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
  expect((await receiver.counts()).runs.due).toBe(count + 1);
  await receiver.stop();
  return database;
}

/** The CPU time that a receiver with `count` more open joins spends on starting, and then on waiting. */
async function costsOf(count: number): Promise<{ start: number; waiting: number }> {
  const clock = new ManualClock();
  const database = await withOpenJoins(clock, count);
  const { receiver } = made({ clock, database });
  joining(receiver);
  const start = await usageOf(async () => {
    await receiver.start();
    // The events and joins from before the start are looked at once, in the background.
    for (let turns = 0; turns < 1_000; turns += 1) await turn();
  });
  const waiting = await usageOf(async () => {
    for (let beat = 0; beat < beats; beat += 1) {
      await clock.timer(2_000);
      clock.advance(2_000);
    }
  });
  expect((await receiver.counts()).runs.running).toBe(0);
  await receiver.stop();
  return { start, waiting };
}

test('a hundred thousand open joins start in under a second and cost nothing while they wait', async () => {
  const few = await costsOf(1);
  const full = await costsOf(many);
  expect(full.start).toBeLessThan(longestStart);
  // Both take a few milliseconds for minutes of waiting; looking at every join would take thousands of milliseconds.
  expect(full.waiting).toBeLessThan(10 * few.waiting + 250_000);
});
