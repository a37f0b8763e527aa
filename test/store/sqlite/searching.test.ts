/** Other work runs between the looks of a search, of which none goes through more events than a delivery can wait for. */
import { readFileSync, writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { callKey } from '../../../src/store/event-record.ts';
import { bodyOf, deliver } from '../../support/deliveries.ts';
import type { EventFilter, Receiver } from '../../support/public.ts';
import { started } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { turnsOf } from '../../support/turns.ts';
import { traceIdsOf } from '../parts.ts';

/** Several times as many as one look goes through. */
const count = 100_000;
const looks = 5;

const filters: readonly EventFilter[] = [
  {},
  { state: 'dead' },
  { state: 'dead', handler: 'crm-sync' },
  { state: 'open' },
  { state: 'new' },
  { state: 'done' },
  { failure: 'the-same' },
  { callId: 'call-1' },
];

test('a search among very many events of each kind is many short looks', async () => {
  const { events } = await filled();
  for (const filter of filters) {
    const turns = await turnsOf(events.list({ ...filter, agentId: 'nobody' }));
    expect(turns, JSON.stringify(filter)).toBeGreaterThanOrEqual(looks);
  }
  const dead = { state: 'dead', agentId: 'nobody' } as const;
  expect(await turnsOf(events.replay(dead, { dryRun: true }))).toBeGreaterThanOrEqual(looks);
  const dismissing = events.dismiss(dead, { reason: 'a test', dryRun: true });
  expect(await turnsOf(dismissing)).toBeGreaterThanOrEqual(looks);
});

test('an attack of huge filters leaves receiving free', async () => {
  const receiver = await filled();
  const api = receiver.api({ authorize: () => 'read' });
  let answered = 0;
  const search = async () => {
    const { status } = await api.fetch(new Request('http://localhost/events?state=dead&agentId=nobody'));
    answered += 1;
    return status;
  };
  const searches = Array.from({ length: 20 }, search);
  expect(await deliver(receiver)).toMatchObject({ status: 200 });
  expect(answered).toBeLessThan(searches.length);
  expect(new Set(await Promise.all(searches))).toEqual(new Set([200]));
});

test('a search of the quarantine, and the history of a day, are many short looks', async () => {
  const database = temporaryDatabase();
  await (await started({ database }, () => {})).receiver.stop();
  const now = Date.now();
  const db = new Database(database);
  const numbers = (to: number) => `with recursive numbers (number) as (
    select 1 union all select number + 1 from numbers where number < ${to})`;
  db.exec(`
    begin;
    insert into quarantine (kind, reason, digest, received_at, trace_id, headers, body) ${numbers(5_000)}
      select 'unreadable', 'not_json', number, ${now}, 'trace-' || number, '{}', '{' from numbers;
    insert into history ${numbers(1_440)}
      select 'minute', '', (${now} / 60000 - number) * 60000, 'accepted', 1 from numbers;
    commit;`);
  db.close();
  const { quarantine, history } = (await started({ database }, () => {})).receiver;
  const page = quarantine.list({ traceId: 'trace-1', limit: 1_000 });
  expect(await turnsOf(page)).toBeGreaterThanOrEqual(looks);
  const found = (await page).deliveries.map(({ id }) => id);
  expect([found.length, found[0], found.at(-1)]).toEqual([1_000, 1_999, 1_000]);
  const rest = await quarantine.list({ traceId: 'trace-1', limit: 1_000, cursor: (await page).cursor });
  expect([rest.deliveries.length, rest.deliveries[0]?.id, rest.deliveries.at(-1)?.id]).toEqual([111, 199, 1]);
  const day = history.list();
  expect(await turnsOf(day)).toBeGreaterThanOrEqual(1_440 / 30);
  expect((await day).reduce((sum, { accepted }) => sum + accepted, 0)).toBe(1_440);
});

test('finds events however far apart they are', async () => {
  const database = temporaryDatabase();
  const { receiver } = await started({ database });
  await deliver(receiver, bodyOf({ traceId: 'trace-early' }));
  const db = new Database(database);
  db.exec("update sqlite_sequence set seq = 300000 where name = 'events'");
  db.close();
  await deliver(receiver, bodyOf({ traceId: 'trace-late' }));
  for (const filter of [{}, { eventName: 'CallHandler.CallEnded' }, { agentId: 'agent_1', since: 0 }]) {
    expect(traceIdsOf((await receiver.events.list(filter)).events)).toEqual(['trace-late', 'trace-early']);
  }
  const { cursor } = await receiver.events.list({ limit: 1 });
  expect(traceIdsOf((await receiver.events.list({ limit: 1, cursor })).events)).toEqual(['trace-early']);
});

/** A receiver whose events wait, with a dead letter and an open run each: every index leads to all of them. */
async function filled(): Promise<Receiver> {
  const database = temporaryDatabase();
  writeFileSync(database, await (made ??= filledFile()));
  return (await started({ database }, () => {})).receiver;
}

let made: Promise<Buffer> | undefined;

/** Its file, which is made once. */
async function filledFile(): Promise<Buffer> {
  const database = temporaryDatabase();
  await (await started({ database }, () => {})).receiver.stop();
  const db = new Database(database);
  const numbers = `with recursive numbers (number) as (
    select 1 union all select number + 1 from numbers where number < ${count})`;
  const rows = (columns: string) => `${numbers} select ${columns} from numbers`;
  db.exec(`
    begin;
    insert into events (sequence, trace_id, event_name, call_id, call_key, agent_id, occurred_at, received_at, facts)
      ${rows(`number, 'trace-' || number, 'A.B', 'call-1', ${callKey('call-1')}, 'agent-1', 1, 1, '{}'`)};
    insert into call_events select sequence >> 16, call_key, sequence from events;
    update event_totals set last_sequence = ${count}, events = ${count}, indexed_sequence = ${count};
    insert into waiting ${rows('number')};
    insert into runs (sequence, handler, call_id, state, attempts, settled_at, failure)
      ${rows(`number, 'crm-sync', 'call-1', 'dead', 1, 1, 'the-same'`)};
    insert into runs (sequence, handler, call_id, state, attempts, due_at)
      ${rows(`number, 'gone', 'call-1', 'due', 1, 1`)};
    commit;`);
  db.close();
  return readFileSync(database);
}
