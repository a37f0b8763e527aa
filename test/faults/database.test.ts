// @module-tag long
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { ManualClock, turn } from '../support/clock.ts';
import { type Answer, bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { Script } from '../support/process.ts';
import type { Receiver } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { storeAround } from '../support/store-around.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** Commits one effect for each event; some runs fail at their first attempt. */
function effects(receiver: Receiver, gate?: Gate) {
  receiver.database.exec('create table effects (trace_id text)');
  receiver.on('*', { name: 'committing', retry: { attempts: 1_000, cap: '1s' } }, async (event, context) => {
    if (event.traceId === 'before-the-lock') await gate?.pass();
    if (event.traceId.endsWith('7') && context.attempt === 1) throw new Error('not yet');
    await context.commit((db) => void db.prepare('insert into effects values (?)').run(event.traceId));
  });
}

function effectsOf(receiver: Receiver): string[] {
  const rows = receiver.database.prepare('select trace_id from effects').all() as { trace_id: string }[];
  return rows.map((row) => row.trace_id);
}

/** Limits the database to this many more pages than it has now; by default, takes the limit away. */
function leaveRoom(receiver: Receiver, pages = 4_294_967_294) {
  const { page_count: used } = receiver.database.prepare('pragma page_count').get() as { page_count: number };
  receiver.database.prepare(`pragma max_page_count = ${Math.min(used + pages, 4_294_967_294)}`).get();
}

/** Refuses further events as a full disk would. A limit of pages would not hold for the writer thread's connection. */
function takeNoMoreThan(receiver: Receiver, events: number): void {
  receiver.database.exec(`drop trigger if exists full; create trigger full before insert on bodies
    when (select count(*) from bodies) >= ${events} begin select raise(abort, 'database or disk is full'); end`);
}

const everything = 1_000_000;

describe('a full disk', () => {
  test.each<[string, () => string, (receiver: Receiver) => void, (receiver: Receiver) => void]>([
    ['of a database in memory', () => ':memory:', (r) => leaveRoom(r, 60), (r) => leaveRoom(r)],
    ['of a file', temporaryDatabase, (r) => takeNoMoreThan(r, 20), (r) => takeNoMoreThan(r, everything)],
  ])('%s is answered with 503, loses nothing, and is over by itself when there is room', async (...given) => {
    const [, database, fill, makeRoom] = given;
    const clock = new ManualClock();
    const { receiver, logs } = await started({ clock, database: database() }, effects);
    const payload = { transcript: 'word '.repeat(1_000) };
    const send = (traceId: string): Promise<Answer> => {
      const body = bodyOf({ traceId, payload });
      return deliver(receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    };
    const acknowledged: string[] = [];
    const refused: string[] = [];
    fill(receiver);
    for (let count = 0; count < 60; count += 1) {
      const traceId = `trace-${count}`;
      const { status, headers } = await send(traceId);
      expect([200, 503]).toContain(status);
      if (status === 503) expect(headers.get('retry-after')).toBe('2');
      (status === 200 ? acknowledged : refused).push(traceId);
    }
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(refused.length).toBeGreaterThan(0);
    expect(logs.of('delivery_failed')[0]).toMatchObject({ cause: 'database or disk is full' });
    makeRoom(receiver);
    for (const traceId of refused) expect((await send(traceId)).json.status).toBe('accepted');
    await expect.poll(clock.passing(async () => (await receiver.counts()).events.done)).toBe(60);
    expect(effectsOf(receiver).toSorted()).toEqual([...acknowledged, ...refused].toSorted());
  });

  test('neither prevents a receiver from stopping nor from continuing later', async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const first = await started({ clock, database }, effects);
    const body = bodyOf({ traceId: 'trace-1' });
    await deliver(first.receiver, body, signedHeaders(body, { timestamp: clock.now() }));
    await expect.poll(clock.passing(() => effectsOf(first.receiver))).toHaveLength(1);
    leaveRoom(first.receiver, 0);
    await first.receiver.stop();
    const { receiver } = await started({ clock, database });
    expect((await receiver.counts()).events.done).toBe(1);
  });
});

describe('a database that another process has locked', () => {
  test('is answered with 503 or a late 200 for five seconds, and nothing is lost or doubled', async () => {
    const database = temporaryDatabase();
    const gate = new Gate();
    const { receiver, logs } = await started({ database, clock: systemClock }, (r) => effects(r, gate));
    expect((await deliver(receiver, bodyOf({ traceId: 'before-the-lock' }))).status).toBe(200);
    await gate.reached;
    const holder = new Script(
      fileURLToPath(new URL('./lock-holder.ts', import.meta.url)),
      JSON.stringify({ database }),
    );
    await holder.line('locked');

    // A commit of a handler waits for as long as the lock is held; deliveries don't.
    gate.open();
    await turn();
    const lockedAt = performance.now();
    const traceIds = Array.from({ length: 40 }, (_, index) => `trace-${index}`);
    const answered = new Map<string, number[]>();
    const duplicates: string[] = [];
    // Sends each delivery again until it is acknowledged, as the platform does.
    const sending = traceIds.map(async (traceId) => {
      const statuses: number[] = [];
      answered.set(traceId, statuses);
      const body = bodyOf({ traceId, callId: `call-${traceId}` });
      do {
        const { status, headers, json } = await deliver(receiver, body);
        statuses.push(status);
        if (json.status === 'duplicate') duplicates.push(traceId);
        if (status === 503) expect(headers.get('retry-after')).toBe('2');
      } while (statuses.at(-1) === 503);
    });
    const isEachRefusedOften = () => [...answered.values()].every((statuses) => statuses.length > 3);
    while (performance.now() - lockedAt < 5_000 || !isEachRefusedOften())
      await logs.until('delivery_failed', logs.of('delivery_failed').length + 1);
    await holder.kill();
    await Promise.all(sending);

    expect([...answered.values()].every((statuses) => statuses.at(-1) === 200)).toBe(true);
    expect(new Set([...answered.values()].flat())).toEqual(new Set([200, 503]));
    await logs.until('run_done', traceIds.length + 1);
    expect(effectsOf(receiver).toSorted()).toEqual(['before-the-lock', ...traceIds].toSorted());
    expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 41 });
    // A delivery that was given up may be written all the same. It is a duplicate when it comes again.
    for (const traceId of duplicates) expect(answered.get(traceId)?.at(-2)).toBe(503);
  });

  test('that a commit meets with in another database of the user fails that run alone', async () => {
    const elsewhere = temporaryDatabase();
    const { receiver, logs } = await started({}, (r) => {
      r.on('Other.Locked', { name: 'locked', retry: { attempts: 2, base: 0 } }, (_event, { commit }) =>
        commit(() => {
          throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY', elsewhere });
        }),
      );
    });
    await deliver(receiver, bodyOf({ eventName: 'Other.Locked' }));
    await logs.until('run_dead');
    expect((await deliver(receiver)).status).toBe(200);
  });
});

test('an inbox in which no run can be settled is reported once for all of them, and again at each pause', async () => {
  const clock = new ManualClock();
  let failed = 0;
  const database = storeAround(':memory:', clock, (method) =>
    method === 'settle'
      ? async () => {
          failed += 1;
          throw new Error('disk is full');
        }
      : undefined,
  );
  const { receiver, logs } = await started({ clock, database }, (r) => r.on('*', () => {}));
  for (let i = 0; i < 10; i += 1) await deliver(receiver, bodyOf({ traceId: `id-${i}` }));
  await expect.poll(() => failed).toBe(10);
  expect(logs.of('dispatch_failed')).toMatchObject([{ cause: 'disk is full' }]);
  clock.advance(1_000);
  await expect.poll(() => failed).toBe(20);
  expect(logs.of('dispatch_failed')).toHaveLength(2);
});

/** Keeps the rows of a table out without an error. */
function keepOut(receiver: Receiver, table: string, condition = ''): void {
  receiver.database.exec(
    `create trigger forget before insert on ${table} ${condition} begin select raise(ignore); end`,
  );
}

test.each(['identities', 'events', 'bodies', 'claims', 'waiting'])(
  'a delivery of which a trigger keeps the row out of %s is not acknowledged',
  async (table) => {
    const { receiver } = await started({ database: temporaryDatabase() }, (r) => {
      if (table !== 'waiting') r.on('*', { name: 'crm' }, () => {});
    });
    const body = bodyOf({ traceId: 'kept-out' });
    keepOut(receiver, table);
    expect((await deliver(receiver, body)).status).toBe(503);
    receiver.database.exec('drop trigger forget');
    await expect.poll(async () => (await deliver(receiver, body)).json.status).toBe('accepted');
    expect(await receiver.events.get('kept-out')).toBeDefined();
  },
);

test('a delivery whose row a trigger keeps out fails alone, and those that come with it are taken', async () => {
  const { receiver } = await started({ database: temporaryDatabase() });
  keepOut(receiver, 'events', "when new.trace_id = 'bad'");
  const ids = ['good-1', 'good-2', 'bad', 'good-3', 'good-4'];
  const answers = () => Promise.all(ids.map((traceId) => deliver(receiver, bodyOf({ traceId }))));
  // Together again and again, because on a busy machine a write may take longer than a sender waits.
  const statuses = async () => (await answers()).map(({ status }) => status);
  await expect.poll(statuses).toEqual([200, 200, 503, 200, 200]);
});

test('an unreadable delivery that a trigger keeps out of quarantine is not acknowledged', async () => {
  const { receiver } = await started({ database: temporaryDatabase() });
  keepOut(receiver, 'quarantine');
  expect((await deliver(receiver, 'no JSON')).status).toBe(503);
  receiver.database.exec('drop trigger forget');
  await expect.poll(async () => (await deliver(receiver, 'no JSON')).json.status).toBe('quarantined');
  expect((await receiver.quarantine.list()).deliveries).toHaveLength(1);
});
