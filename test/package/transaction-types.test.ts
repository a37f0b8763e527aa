/** What `ctx.commit` gets follows from the store. */
import { expect, expectTypeOf, test } from 'vitest';
import { type Receiver, RingbackError, type UserDatabase, createReceiver } from '../../src/index.ts';
import type { Store } from '../../src/store/index.ts';
import { testReceiver } from '../../src/testing/index.ts';
import { deliver } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';

/** A transaction of a database that works asynchronously. */
interface Client {
  query(text: string): Promise<unknown>;
}

test('a synchronous database refuses asynchronous effects, for the compiler and in a run', async () => {
  const failures: unknown[] = [];
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'orders', retry: { attempts: 1 } }, async (_event, { commit }) => {
      expectTypeOf(await commit((db) => db.prepare('select 1').get())).toEqualTypeOf<unknown>();
    }),
  );
  const forgetful = await started({}, (r) =>
    r.on('*', { name: 'orders', retry: { attempts: 1 } }, async (_event, { commit }) => {
      // @ts-expect-error: the transaction ends before what the function awaits
      await commit(async (db) => db.exec('create table orders (id)')).catch((error: unknown) =>
        failures.push(error),
      );
    }),
  );
  await deliver(receiver);
  await logs.until('run_done');
  await deliver(forgetful.receiver);
  await forgetful.logs.until('run_dead');
  expect(failures).toEqual([expect.any(RingbackError)]);
  expect(failures[0]).toMatchObject({ code: 'commit_asynchronous' });
});

test('a store of an asynchronous database gives handlers its own transaction', () => {
  const register = (database: Store<Client>) =>
    createReceiver({ secrets: 'whsec_aG91c2U=', database })
      .on('*', async (_event, { commit }) => {
        const result = await commit(async (client) => {
          expectTypeOf(client).toEqualTypeOf<Client>();
          await client.query('insert into orders values (1)');
          return 1;
        });
        expectTypeOf(result).toEqualTypeOf<number>();
      })
      .onCall({ name: 'join', events: ['CallHandler.CallEnded'], within: '1m' }, (_call, { commit }) =>
        commit((client) => client.query('select 1')),
      );
  expectTypeOf(register).returns.not.toBeAny();
  expectTypeOf<Parameters<Parameters<Store['settleWith']>[2]>[0]>().toEqualTypeOf<UserDatabase>();
});

test('a receiver for tests has the transaction of the database that it is given', () => {
  const register = (database: Store<Client>) =>
    testReceiver({ database }).on('*', (_event, { commit }) => commit((client) => client.query('select 1')));
  expectTypeOf(register).returns.toEqualTypeOf<Receiver<Client>>();
  expectTypeOf(() => testReceiver()).returns.toEqualTypeOf<Receiver>();
});
