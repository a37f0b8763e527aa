import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import {
  ConfigError,
  createReceiver,
  type Receiver,
  type Store,
  type UserDatabase,
} from '../support/public.ts';
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
    expect(() => receiver.database).toThrow(ConfigError);
    expect(() => database.exec(orders)).toThrow(expect.objectContaining({ code: 'database_closed' }));
  });

  test('with a transaction left open is no place to start on, and nothing is acknowledged in one', async () => {
    const first = made();
    first.receiver.database.exec('begin');
    await expect(first.receiver.start()).rejects.toMatchObject({ code: 'transaction_left_open' });

    const { receiver, logs } = await started();
    await deliver(receiver);
    receiver.database.exec('begin');
    expect((await deliver(receiver)).status).toBe(503);
    expect(logs.of('delivery_failed')).toMatchObject([
      { cause: expect.stringContaining('transaction') as string },
    ]);
    receiver.database.exec('rollback');
    expect((await deliver(receiver)).status).toBe(200);
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
    expect(() => receiver.database).toThrow('the store the cloud has none to give');
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
    expect(errors).toMatchObject([{ code: 'database_lent' }, { code: 'database_lent' }]);
    expect(ordersIn(receiver)).toEqual([]);
    const [dead] = (await receiver.events.list({ state: 'dead' })).events;
    expect(dead?.runs[0]?.reason).toContain('expects a synchronous function');
  });
});
