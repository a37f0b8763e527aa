import { setImmediate } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect } from 'vitest';
import { type KeptTable, keptTableNames } from '../../src/store/shared/kept-tables.ts';
import { movable } from '../../src/cli/inbox/move.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { Discard, type Receiver, RetryLater } from '../support/public.ts';
import { started } from '../support/receiver.ts';

/** A call whose id has to be quoted everywhere. */
export const oddCall = `call-"'\\,}`;
export const known = bodyOf({ traceId: 't-known', callId: 'call-known' });
export const erased = bodyOf({ traceId: 't-erased', callId: 'call-erased' });
const events = ['CallHandler.CallEnded', 'CallHandler.CallStarted'] as const;
export const report = { name: 'report', events: [...events], within: '1h' } as const;

/** An inbox in a file with all that an inbox keeps, and with a claim of a process that has died. */
export async function filledFile(database: string): Promise<void> {
  await handledPart(database);
  // Without handlers, events wait.
  const { receiver } = await started({ database }, () => {});
  for (const callId of ['call-new', 'call-new', oddCall]) await deliver(receiver, bodyOf({ callId }));
  await receiver.stop();
  claimForTheDead(database);
  forgetMuch(database);
}

async function handledPart(database: string): Promise<void> {
  const { receiver } = await started({ database }, (r) => {
    r.on('*', { name: 'journal', order: 'strict' }, ({ callId }) => {
      if (callId === 'call-due') throw new RetryLater('2h', 'the journal is closed');
      if (callId === 'call-dead') throw new Discard('the journal is full: \u0000');
    });
    r.onCall(report, () => {});
  });
  for (const callId of ['call-due', 'call-due', 'call-dead', oddCall])
    await deliver(receiver, bodyOf({ callId, payload: { never_documented: 1 } }));
  for (const body of [known, erased, known]) await deliver(receiver, body);
  await receiver.reconcile({
    calls: {
      get: async () => ({
        call_status: 'ended',
        call_start_time: Date.now(),
        call_end_time: Date.now(),
        ai_agent_id: 'agent',
      }),
    },
    analyses: { get: async () => ({}) },
    ids: () => ['call-reconciled'],
    since: '1h',
  });
  await deliver(receiver, '{');
  const forged = bodyOf();
  await deliver(receiver, forged, signedHeaders(forged, { secrets: otherSecret }));
  await deliver(receiver, `{"said":"${'x'.repeat(100_000)}"}`, { 'content-type': 'application/json' });
  await allHandled(receiver);
  await receiver.events.replay({ callId: 'call-dead' }, { by: 'somebody', reason: 'mended' });
  while ((await receiver.counts()).runs.dead < 1) await setImmediate();
  await receiver.erase({ callId: 'call-erased' });
  await receiver.handlers.pause('journal', { reason: 'it moves' });
  await receiver.stop();
}

async function allHandled(receiver: Receiver): Promise<void> {
  while ((await receiver.counts()).events.new > 0) await setImmediate();
}

/** As if a process had claimed the first event that waits, and all runs that were due in 1970, and died. */
export function claimForTheDead(file: string): void {
  const database = new Database(file);
  database.exec('insert into processes (id) values (999)');
  database.exec("update runs set state = 'claimed', claimed_by = 999 where state = 'due' and due_at < 1e12");
  database.exec('insert into claims select min(sequence), 999 from waiting');
  database.exec('delete from waiting where sequence in (select sequence from claims)');
  database.close();
}

/** As if there had been many events and deliveries, of which only trace ids are left: more than go into one page. */
function forgetMuch(file: string): void {
  const database = new Database(file);
  database.exec(`
    with recursive n (n) as (select 1 union all select n + 1 from n where n < 1200)
    insert into identities select 0, cast(printf('%016d', n) as blob), null, 4000000000000 from n`);
  database.exec('update event_totals set last_sequence = last_sequence + 1200');
  database.exec('update sqlite_sequence set seq = seq + 30');
  database.close();
}

/**
 * All rows that an inbox in a file keeps, by table. Tombstones are in no order that means anything, and Postgres has no
 * U+0000.
 */
export async function keptIn(file: string): Promise<Record<string, unknown>> {
  return movable(file).asSource(async (source) => {
    const kept: Record<string, unknown> = { numbers: await source.numbers() };
    const rowsOf = async (table: KeptTable) => {
      const rows: string[] = [];
      let page = await source.page(table, undefined);
      for (; page.next; page = await source.page(table, page.next))
        rows.push(...page.rows.map((row) => JSON.stringify(row).replaceAll('\\u0000', '\ufffd')));
      return rows.sort();
    };
    for (const table of keptTableNames) kept[table] = await rowsOf(table);
    expect(Object.entries(kept).filter(([, rows]) => Array.isArray(rows) && rows.length === 0)).toEqual([]);
    return kept;
  });
}
