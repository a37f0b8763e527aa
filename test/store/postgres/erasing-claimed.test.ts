// @module-tag long
/** An event is removed while what was claimed is given back: an erased call must leave nothing, in which its id would stay. */
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock.ts';
import { removeEvents } from '../../../src/store/postgres/admin/removal.ts';
import { Session } from '../../../src/store/postgres/connection/session.ts';
import type { Sequence } from '../../../src/store/event-record.ts';
import { bodyOf, deliver } from '../../support/deliveries.ts';
import { started } from '../../support/receiver.ts';
import { claimDue, dueAt, endOf, eventOf, only, record, runOf } from '../parts.ts';
import { holdNextStatement, openedOnPool, waitsForLock } from './opened-postgres.ts';
import { openedAt } from './shared-inbox.ts';

const callId = 'call-1';
const tables = ['events', 'waiting', 'claims', 'crash_counts'] as const;

/** A store, a session that removes, and what is left of the call in the tables of claims and crashes. */
async function inbox() {
  const opened = await openedOnPool();
  const { connectionString, schema } = opened;
  const session = new Session({ connectionString, schema, pool: undefined }, systemClock);
  onTestFinished(() => session.close());
  const sequencesIn = async (table: (typeof tables)[number]) => {
    const rows = await session.query<{ sequence: Sequence }>(`select sequence from ringback.${table}`);
    return rows.map(({ sequence }) => sequence);
  };
  return { ...opened, session, sequencesIn };
}

/** Removes all events, and ends only when what is begun meanwhile has written, or waits. */
async function removingWhile(
  { session, sequencesIn }: Awaited<ReturnType<typeof inbox>>,
  begin: () => Promise<unknown>,
): Promise<void> {
  const sequences = await sequencesIn('events');
  const meanwhile = await session.write(async (transaction) => {
    await removeEvents(transaction, sequences, 10_000);
    const begun = begin();
    await Promise.race([begun, waitsForLock(session)]);
    return { begun };
  });
  await meanwhile.begun;
}

async function expectNothingLeft({ sequencesIn }: Awaited<ReturnType<typeof inbox>>): Promise<void> {
  for (const table of tables) expect(await sequencesIn(table)).toEqual([]);
}

test('a process that leaves gives back no event that it has recorded and that is removed meanwhile', async () => {
  const opened = await inbox();
  await opened.store.record(eventOf('a', { callId }), true).claimed;
  await removingWhile(opened, () => opened.store.close());
  await expectNothingLeft(opened);
});

test('a process gives back no event that it does not know of and that is removed meanwhile', async () => {
  const opened = await inbox();
  const { store, pool } = opened;
  const sendHeld = holdNextStatement(pool);
  await expect(store.record(eventOf('a', { callId }), true).written).rejects.toThrow(
    'the connection is lost',
  );
  await sendHeld();
  await removingWhile(opened, () => store.keepAlive());
  await expectNothingLeft(opened);
});

test('a process that waits for a removal to give back an event can write its heartbeats', async () => {
  const opened = await inbox();
  const { store, session, pool } = opened;
  const sendHeld = holdNextStatement(pool);
  await expect(store.record(eventOf('a', { callId }), true).written).rejects.toThrow(
    'the connection is lost',
  );
  await sendHeld();
  const { alive } = await session.write(async (transaction) => {
    await removeEvents(transaction, await opened.sequencesIn('events'), 10_000);
    const begun = store.keepAlive();
    await waitsForLock(session);
    await session.query('select from ringback.processes for update nowait');
    return { alive: begun };
  });
  await alive;
});

test('a join whose first event is removed while another arrives is opened again by the next', async () => {
  const opened = await inbox();
  const place = new URL(opened.connectionString);
  place.searchParams.set('schema', opened.schema);
  const events = ['CallHandler.CallStarted', 'CallHandler.CallEnded', 'callAnalysis.pcaCompleted'];
  const { receiver } = await started({ database: place.href }, (handlers) =>
    handlers.onCall({ name: 'join', events, within: '10m' }, () => {}),
  );
  const [first, ...others] = events.map((eventName) => bodyOf({ eventName, callId }));
  await deliver(receiver, first);
  await expect.poll(() => receiver.counts()).toMatchObject({ events: { new: 0 }, runs: { due: 1 } });
  const sequences = await opened.sequencesIn('events');
  await deliver(receiver, others[0]);
  await expect.poll(() => receiver.counts()).toMatchObject({ events: { new: 0 }, runs: { due: 1 } });
  await opened.session.write((transaction) => removeEvents(transaction, sequences, 10_000));
  await deliver(receiver, others[1]);
  await expect.poll(() => receiver.counts()).toMatchObject({ events: { new: 0 }, runs: { due: 1 } });
});

test('a removal sees an event that a process which leaves has just given back', async () => {
  const opened = await inbox();
  const { store, session, connectionString, schema } = opened;
  await record(store, eventOf('a', { callId }));
  expect(only(await store.claimEvents(1))).toMatchObject({ traceId: 'a' });
  const other = await lockedTable(connectionString, `"${schema}".runs in share row exclusive mode`);
  const leaving = store.close();
  await waitsForLock(session);
  const removing = session.write(async (transaction) =>
    removeEvents(transaction, await opened.sequencesIn('events'), 10_000),
  );
  await expect.poll(() => waiters(other)).toBe(2);
  await other.query('commit');
  await Promise.all([leaving, removing]);
  await expectNothingLeft(opened);
});

test('a removal sees an event that was claimed, and given back for its size', async () => {
  const opened = await inbox();
  const { store, session, connectionString, schema } = opened;
  const body = Buffer.alloc(5 * 1024 * 1024);
  for (const traceId of ['a', 'b', 'c']) await record(store, eventOf(traceId, { callId, body }));
  const other = await lockedTable(connectionString, `"${schema}".crash_counts in access exclusive mode`);
  const claiming = store.claimEvents(3);
  await waitsForLock(session);
  const removing = session.write(async (transaction) =>
    removeEvents(transaction, await opened.sequencesIn('events'), 10_000),
  );
  await expect.poll(() => waiters(other)).toBe(2);
  await other.query('commit');
  await Promise.all([claiming, removing]);
  await expectNothingLeft(opened);
});

test('a process that takes over a stored run counts no crash of an event that is removed meanwhile', async () => {
  const opened = await inbox();
  const { store, session, connectionString, schema } = opened;
  await record(store, eventOf('a', { callId }));
  await store.settle(runOf(store, only(await store.claimEvents(1))), endOf(dueAt(0)));
  expect(await claimDue(store)).toHaveLength(1);
  const other = await openedAt(connectionString, schema);
  await session.query(
    "update ringback.processes set heartbeat_at = heartbeat_at - interval '1 hour' where id = (select min(id) from ringback.processes)",
  );
  await removingWhile(opened, () => other.keepAlive());
  await expectNothingLeft(opened);
});

/** A connection that keeps others from a table until it commits. */
async function lockedTable(connectionString: string, table: string): Promise<Client> {
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`begin; lock table ${table}`);
  return client;
}

/** How many backends wait for this one, or for one that waits for it. */
async function waiters(client: Client): Promise<unknown> {
  const { rows } = await client.query<{ count: number }>(
    `with recursive waiting (pid) as (
       select pg_backend_pid() union
       select a.pid from pg_stat_activity a join waiting w on w.pid = any (pg_blocking_pids(a.pid))
     ) select count(*)::integer - 1 as count from waiting`,
  );
  return rows[0]?.count;
}
