/** The database is deleted, moved or replaced while a receiver has it open. */
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { concurrently } from '../support/concurrently.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import type { Receiver } from '../support/public.ts';
import { deliverUntilTaken, made, started } from '../support/receiver.ts';
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts';

const before = traceIds('before', 20);
const after = traceIds('after', 60);

function traceIds(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}

/** Delivers events, some one by one and some together; resolves to the trace ids of those that are acknowledged. */
async function acknowledged(receiver: Receiver, ids: readonly string[]): Promise<string[]> {
  const taken: string[] = [];
  const send = async (traceId: string) => {
    const { status } = await deliver(receiver, bodyOf({ traceId }));
    expect([200, 503]).toContain(status);
    if (status === 200) taken.push(traceId);
  };
  for (const traceId of ids.slice(0, 3)) await send(traceId);
  await concurrently(ids.slice(3), 20, send);
  return taken;
}

/** What an inbox holds when a receiver starts on it, and whether the file is sound. */
async function heldBy(database: string) {
  const { receiver } = await started({ database });
  const rows = receiver.database.prepare('select trace_id from events').all() as { trace_id: string }[];
  const integrity = receiver.database.prepare('pragma integrity_check').get();
  await receiver.stop();
  return { traceIds: rows.map((row) => row.trace_id), isSound: JSON.stringify(integrity).includes('"ok"') };
}

/** An inbox of another receiver, with one event. */
async function otherInbox(): Promise<string> {
  const database = temporaryDatabase();
  const { receiver } = await started({ database });
  await deliver(receiver, bodyOf({ traceId: 'other' }));
  await receiver.stop();
  return database;
}

interface Change {
  /** Changes the files, and returns where a restart would look for the inbox. */
  readonly make: (database: string, other: string) => string;
  readonly found: RegExp;
  /** What is there after a restart. */
  readonly kept: readonly string[];
}

const changes: Readonly<Record<string, Change>> = {
  'the database is deleted': {
    make: (database) => {
      rmSync(database);
      return database;
    },
    found: /^it was deleted or moved$/,
    kept: [],
  },
  'all three files are deleted': {
    make: (database) => {
      for (const end of ['', '-wal', '-shm']) rmSync(`${database}${end}`);
      return database;
    },
    found: /^it was deleted or moved$/,
    kept: [],
  },
  'another database is put in its place': {
    make: (database, other) => {
      renameSync(other, database);
      return database;
    },
    found: /^another file is in its place$/,
    kept: ['other'],
  },
  'its WAL is deleted': {
    make: (database) => {
      rmSync(`${database}-wal`);
      return database;
    },
    found: /^its WAL \(-wal\) was deleted or moved$/,
    kept: before,
  },
  'another WAL is put in its place': {
    make: (database) => {
      writeFileSync(`${database}-new`, '');
      renameSync(`${database}-new`, `${database}-wal`);
      return database;
    },
    found: /^another file is in the place of its WAL \(-wal\)$/,
    kept: before,
  },
  'its folder is moved': {
    make: (database) => {
      const folder = join(temporaryFolder(), 'moved');
      renameSync(dirname(database), folder);
      mkdirSync(dirname(database));
      return join(folder, 'inbox.db');
    },
    found: /^it was deleted or moved$/,
    kept: before,
  },
};

describe.each(Object.entries(changes))('when %s', (_name, { make, found, kept }) => {
  test(
    'nothing more is acknowledged, one line says so, and a restart finds what can be there',
    { tags: 'long' },
    async () => {
      const [database, other] = [temporaryDatabase(), await otherInbox()];
      const { receiver, logs } = await started({ database });
      expect(await acknowledged(receiver, before)).toHaveLength(before.length);
      const place = make(database, other);
      expect(await acknowledged(receiver, after)).toEqual([]);
      expect(receiver.isReady).toBe(false);
      expect(logs.of('database_replaced')).toMatchObject([
        { level: 50, database, found: expect.stringMatching(found) as string },
      ]);
      const lines = logs.lines.filter(({ event }) => event === 'delivery_failed').length;
      // Only what was being written when it was noticed; the rest is refused at the door.
      expect(lines).toBeLessThanOrEqual(20);
      await receiver.stop();
      const { traceIds: ids, isSound } = await heldBy(place);
      expect(isSound).toBe(true);
      // What was being written when it was noticed may be there too: it was refused, and comes again.
      expect(ids.filter((traceId) => !after.includes(traceId)).toSorted()).toEqual([...kept].toSorted());
    },
  );
});

test('a stop leaves nothing in the WAL that the next process would take for that of the database in its place', async () => {
  const [database, other] = [temporaryDatabase(), await otherInbox()];
  const { receiver, logs } = await started({ database });
  await acknowledged(receiver, before.slice(0, 3));
  renameSync(other, database);
  await acknowledged(receiver, after.slice(0, 3));
  await logs.until('database_replaced');
  await receiver.stop();
  expect(existsSync(`${database}-wal`) && statSync(`${database}-wal`).size > 0).toBe(false);
});

test.skipIf(process.getuid?.() === 0)(
  'a folder that may not be searched for a time keeps nothing back after that',
  { tags: 'long' },
  async () => {
    const [database, handled] = [temporaryDatabase(), [] as string[]];
    const { receiver, logs } = await started({ database }, (r) =>
      r.on('*', { name: 'crm' }, ({ traceId }) => void handled.push(traceId)),
    );
    const taken = await acknowledged(receiver, before);
    chmodSync(dirname(database), 0);
    // What was being written when that was noticed may be acknowledged: the files were in place.
    taken.push(...(await acknowledged(receiver, after)));
    expect(taken.length).toBeLessThan(before.length + after.length);
    expect((await deliver(receiver)).status).toBe(503);
    chmodSync(dirname(database), 0o700);
    await deliverUntilTaken(receiver, bodyOf({ traceId: 'again' }));
    await expect.poll(() => handled.toSorted()).toEqual([...taken, 'again'].toSorted());
    expect(logs.of('database_replaced')).toEqual([]);
    await receiver.stop();
    expect((await heldBy(database)).isSound).toBe(true);
  },
);

test('a commit of effects does not count in a database that was deleted', async () => {
  const [database, gate, outcomes] = [temporaryDatabase(), new Gate(), [] as string[]];
  const { receiver, logs } = await started({ database }, (r) => {
    r.database.exec('create table effects (trace_id text)');
    r.on('*', { name: 'committing' }, async ({ traceId }, { commit }) => {
      await gate.pass();
      await commit((db) => void db.prepare('insert into effects values (?)').run(traceId));
      outcomes.push(traceId);
    });
  });
  await deliver(receiver, bodyOf({ traceId: 'trace-1' }));
  await gate.reached;
  rmSync(database);
  gate.open();
  await logs.until('database_replaced');
  await receiver.stop();
  expect(outcomes).toEqual([]);
  expect(logs.of('run_done')).toEqual([]);
  expect(logs.of('database_replaced')).toHaveLength(1);
});

test("users' own writes are refused with a sentence, before the start too", async () => {
  const [database, another] = [temporaryDatabase(), temporaryDatabase()];
  const { receiver: unstarted } = made({ database });
  unstarted.database.exec('create table notes (text text)');
  rmSync(database);
  expect(() => unstarted.database.exec("insert into notes values ('lost')")).toThrow(
    /should stay in its place .* but it was deleted or moved\. .* Stop this process/,
  );
  await expect(unstarted.start()).rejects.toMatchObject({ code: 'database_replaced' });

  const { receiver } = await started({ database: another });
  receiver.database.exec('create table notes (text text)');
  const insert = receiver.database.prepare('insert into notes values (?)');
  insert.run('kept');
  rmSync(`${another}-wal`);
  expect(() => insert.run('lost')).toThrow(expect.objectContaining({ code: 'database_replaced' }));
  expect((await deliver(receiver)).status).toBe(503);
});

test('handlers are stopped, and a stop still ends', async () => {
  const [database, begun] = [temporaryDatabase(), new Gate()];
  const interrupted = Promise.withResolvers<unknown>();
  const { receiver } = await started({ database }, (r) =>
    r.on('*', { name: 'held' }, async (_event, { signal }) => {
      signal.addEventListener('abort', interrupted.resolve);
      await begun.pass();
      await interrupted.promise;
    }),
  );
  await deliver(receiver);
  await begun.reached;
  begun.open();
  rmSync(database);
  expect((await deliver(receiver)).status).toBe(503);
  await interrupted.promise;
  await receiver.stop();
});

test("the operators' API says so, instead of a failure of its own", async () => {
  const database = temporaryDatabase();
  const { receiver, logs } = await started({ database }, (r) => r.on('*', { name: 'crm' }, () => undefined));
  rmSync(database);
  const change = { 'x-ringback-request': '1', 'content-type': 'application/json' };
  const request = { method: 'POST', headers: change, body: '{"reason":"tested"}' };
  const api = receiver.api({ authorize: () => 'all' });
  const answer = await api.fetch(new Request('https://ops.example.com/handlers/crm/pause', request));
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({ error: { code: 'database_replaced' } });
  expect(logs.of('api_failed')).toEqual([]);
});
