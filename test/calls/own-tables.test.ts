import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { createReceiver, type Receiver, type Store, type UserDatabase } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const orders = 'create table if not exists orders (call_id text)';

function ordersIn(receiver: Receiver): readonly unknown[] {
  return receiver.database.prepare('select call_id from orders').all();
}

describe('receiver.database', () => {
  test.each(['a file', ':memory:'])(
    'takes tables before the start that the first handler finds: %s',
    async (kind) => {
      const database = kind === 'a file' ? temporaryDatabase() : kind;
      const { receiver, logs } = made({ database });
      receiver.database.exec(orders);
      receiver.on('*', (event, { commit }) =>
        commit((db) => void db.prepare('insert into orders values (?)').run(event.callId)),
      );
      await receiver.start();
      await deliver(receiver);
      await logs.until('run_done');
      expect(ordersIn(receiver)).toHaveLength(1);
    },
  );

  test('runs a migration in one transaction', () => {
    const { receiver } = made();
    const { database } = receiver;
    const migrate = (then: () => unknown) =>
      database.transaction(() => {
        database.exec('create table orders (call_id text)');
        return then();
      });
    expect(() =>
      migrate(() => {
        throw new Error('in the middle');
      }),
    ).toThrow('in the middle');
    expect(migrate(() => 42)).toBe(42);
    expect(() => migrate(() => {})).toThrow('already exists');
    expect(() => database.transaction(async () => {})).toThrow('promise');
  });

  test('is closed by stop, started or not, and says so', async () => {
    const { receiver } = made();
    const { database } = receiver;
    database.exec(orders);
    await receiver.stop();
    const closed = expect.objectContaining({ code: 'database_closed' });
    expect(() => receiver.database).toThrow(closed);
    expect(() => database.exec(orders)).toThrow(closed);
  });

  describe.each([
    ['in memory', () => ':memory:'],
    ['in a file', temporaryDatabase],
  ])('%s, a transaction that is begun by hand', (_where, database) => {
    test.each(['begin', 'begin immediate', 'savepoint mine'])(
      'with %s and left open is rolled back and its location is reported, and all else goes on',
      async (begin) => {
        const { receiver, logs } = made({ database: database() });
        const users = receiver.database;
        users.exec(orders);
        users.exec(begin);
        users.prepare('insert into orders values (?)').run('left open');
        await receiver.start();
        users.prepare(begin).run();
        users.prepare('insert into orders values (?)').run('left open');
        expect((await deliver(receiver)).status).toBe(200);
        const location = expect.stringMatching(/^test\/calls\/own-tables\.test\.ts:\d+:\d+$/) as string;
        expect(logs.of('transaction_left_open')).toMatchObject([{ location }, { location }]);
        expect(users.prepare('select * from orders').all()).toEqual([]);
      },
    );

    test('and ended by the same synchronous code is left alone', async () => {
      const { receiver, logs } = await started({ database: database() }, (r) => r.on('*', () => {}));
      const users = receiver.database;
      users.exec(orders);
      users.exec('begin');
      users.prepare('insert into orders values (?)').run('kept');
      users.exec('commit');
      await deliver(receiver);
      expect(users.prepare('select * from orders').all()).toEqual([{ call_id: 'kept' }]);
      expect(logs.of('transaction_left_open')).toEqual([]);
    });

    test('and ended by the same synchronous code contains no commit of a handler, and fails none', async () => {
      const { receiver, logs } = made({ database: database() });
      const users = receiver.database;
      users.exec(orders);
      receiver.on('*', async ({ callId }, { commit }) => {
        const committing = commit((db) => db.prepare('insert into orders values (?)').run(callId));
        users.exec('begin');
        users.prepare('insert into orders values (?)').run('undone');
        users.exec('rollback');
        await committing;
      });
      await receiver.start();
      await deliver(receiver, bodyOf({ callId: 'call-1' }));
      await Promise.race([logs.until('run_done'), logs.until('run_retry')]);
      expect(logs.of('run_retry')).toEqual([]);
      expect(users.prepare('select * from orders').all()).toEqual([{ call_id: 'call-1' }]);
    });
  });

  test('of a store without a connection is refused with a sentence', () => {
    const store = {
      name: 'the cloud',
      record: () => {},
      open: () => {},
      close: () => {},
      calls: {},
      events: {},
    } as unknown as Store;
    const receiver = createReceiver({ headers: { 'x-key': 'key' }, database: store });
    expect(() => receiver.database).toThrow('the store the cloud does not offer its own');
  });
});

describe('ctx.commit', () => {
  test('writes nothing of an asynchronous function, not even what it does after it was refused', async () => {
    const gate = new Gate();
    const ended = new Gate();
    const errors: unknown[] = [];
    const { receiver, logs } = made({ retry: { attempts: 1 } });
    receiver.database.exec(orders);
    receiver.on('*', (event, { commit }) => {
      const effects = async (db: UserDatabase) => {
        const insert = db.prepare('insert into orders values (?)');
        insert.run(`${event.callId} before`);
        await gate.pass();
        for (const write of [
          () => insert.run('late'),
          () => db.exec("insert into orders values ('later')"),
        ]) {
          try {
            write();
          } catch (error) {
            errors.push(error);
          }
        }
        ended.open();
        throw new Error('nobody waits for this one');
      };
      return commit((db): unknown => effects(db));
    });
    await receiver.start();
    await deliver(receiver);
    await logs.until('run_dead');
    gate.open();
    await ended.pass();
    await setImmediate();
    expect(errors).toMatchObject([{ code: 'commit_ended' }, { code: 'commit_ended' }]);
    expect(ordersIn(receiver)).toEqual([]);
    const [dead] = (await receiver.events.list({ state: 'dead' })).events;
    expect(dead?.runs[0]?.reason).toContain('expects a synchronous function');
  });
});
