import { describe, expect, it, onTestFinished } from 'vitest';
import type { UserDatabase } from '../../../src/dispatch/handler.ts';
import { systemClock } from '../../../src/kit/clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

const schema = `
  create table orders (call_id text primary key, amount integer not null) without rowid;
  create table "it's ""quoted""" (id integer primary key);
  create virtual table notes using fts5(text);
  insert into orders values ('a', 1), ('b', 2)`;

async function storeWith(sql = schema): Promise<SqliteStore> {
  const store = new SqliteStore(temporaryDatabase(), systemClock);
  store.database.exec(sql);
  await store.open();
  onTestFinished(() => store.close());
  return store;
}

const none = { inserted: 0, updated: 0, deleted: 0 };

describe('a rehearsal', () => {
  it('counts the rows of each table, and leaves them as they were', async () => {
    const store = await storeWith();
    const written = await store.rehearse((database) => {
      database.prepare("insert into orders values ('c', 3), ('d', 4)").run();
      database.prepare("insert into orders values ('a', 5) on conflict do update set amount = 5").run();
      database.exec("delete from orders where call_id = 'b'");
      database.exec(`insert into "it's ""quoted""" values (1)`);
    });
    expect(written).toEqual([
      { ...none, table: 'it\'s "quoted"', inserted: 1 },
      { table: 'orders', inserted: 2, updated: 1, deleted: 1 },
    ]);
    expect(store.database.prepare('select * from orders').all()).toEqual([
      { call_id: 'a', amount: 1 },
      { call_id: 'b', amount: 2 },
    ]);
  });

  it('starts afresh each time, and knows tables that were created since', async () => {
    const store = await storeWith();
    await store.rehearse((database) => database.exec("delete from orders where call_id = 'a'"));
    store.database.exec('create table later (id integer primary key)');
    const add = (database: UserDatabase) => database.prepare('insert into later values (1)').run();
    for (let times = 0; times < 2; times += 1)
      expect(await store.rehearse(add)).toEqual([{ ...none, table: 'later', inserted: 1 }]);
    expect(await store.rehearse(() => {})).toEqual([]);
  });

  it('does not count what a statement has undone, nor what it left alone', async () => {
    const store = await storeWith();
    const written = await store.rehearse((database) => {
      expect(() => database.exec("insert into orders values ('e', 1), ('a', 1)")).toThrow(/unique/i);
      database.exec("insert or ignore into orders values ('a', 1)");
      database.exec("insert or replace into orders values ('a', 7)");
      database.exec("insert into notes values ('seen')");
    });
    expect(written).toEqual([{ ...none, table: 'orders', inserted: 1 }]);
  });

  it('shows what a statement returns as it would be', async () => {
    const store = await storeWith('create table numbered (id integer primary key, name text)');
    await store.rehearse((database) => {
      const insert = database.prepare('insert into numbered (name) values (?)');
      expect(insert.run('one')).toEqual({ changes: 1, lastInsertRowid: 1 });
      expect(insert.run('two')).toEqual({ changes: 1, lastInsertRowid: 2 });
      expect(database.prepare('select count(*) as count from numbered').get()).toEqual({ count: 2 });
    });
  });

  it('rejects with what the effects throw, and refuses those that are asynchronous', async () => {
    const store = await storeWith();
    const failing = store.rehearse((database) => {
      database.exec("delete from orders where call_id = 'a'");
      throw new Error('no such customer');
    });
    await expect(failing).rejects.toThrow('no such customer');
    const asynchronous = store.rehearse(() => Promise.resolve());
    await expect(asynchronous).rejects.toMatchObject({ code: 'commit_asynchronous' });
    expect(store.database.prepare('select count(*) as count from orders').get()).toEqual({ count: 2 });
  });

  it.each(['commit', 'rollback', 'commit; begin', 'rollback; begin'])('refuses %s', async (statements) => {
    const store = await storeWith();
    const rehearsed = store.rehearse((database) => database.exec(statements));
    await expect(rehearsed).rejects.toMatchObject({ code: 'transaction_ended' });
    // Nothing is left open.
    expect(await store.rehearse(() => {})).toEqual([]);
  });

  it('ends with the function that gets its connection', async () => {
    const store = await storeWith();
    let scoped: UserDatabase | undefined;
    await store.rehearse((database) => {
      scoped = database;
    });
    expect(() => scoped?.exec('delete from orders')).toThrow(/database/);
  });
});
