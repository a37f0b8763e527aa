import Database from 'better-sqlite3';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, deliver } from '../../support/deliveries.ts';
import { started } from '../../support/receiver.ts';
import { temporaryDatabase } from '../../support/temporary.ts';

/** Counts what leaves a statement behind, until the test ends. Only a full garbage collection would free it. */
function leftBehind() {
  const prepare = vi.spyOn(Database.prototype, 'prepare');
  const pragma = vi.spyOn(Database.prototype, 'pragma');
  onTestFinished(() => {
    prepare.mockRestore();
    pragma.mockRestore();
  });
  return () => [...prepare.mock.calls, ...pragma.mock.calls];
}

test('what a receiver does again and again leaves no statements behind', async () => {
  const clock = new ManualClock();
  const { receiver, logs } = await started({ clock, database: temporaryDatabase() }, (r) => {
    r.on('*', { name: 'commits' }, ({ traceId }, { commit }) =>
      commit((database) => {
        database.prepare('insert into orders values (?)').run(traceId);
      }),
    );
    r.on('*', { name: 'fails' }, () => {
      throw new Error('no');
    });
    r.database.exec('create table orders (trace_id text)');
  });
  const round = async (number: number) => {
    for (let index = 0; index < 5; index += 1)
      await deliver(receiver, bodyOf({ traceId: `trace-${number}-${index}` }));
    await logs.until('run_done', 5 * number);
    await logs.until('run_retry', 5 * number);
    // Time for the looks after other processes and for retries, in each of which something is read or written.
    for (let heartbeat = 0; heartbeat < 5; heartbeat += 1) {
      clock.advance(2_000);
      await turn();
    }
  };
  await round(1);
  const left = leftBehind();
  await round(2);
  expect(left()).toEqual([]);
});

test('a statement on own tables still works after a table changed, and after many others were used', async () => {
  const { receiver } = await started({ database: temporaryDatabase() });
  const { database } = receiver;
  database.exec('create table orders (id integer)');
  const insert = 'insert into orders (id) values (?)';
  const select = 'select * from orders';
  database.prepare(insert).run(1);
  expect(database.prepare(select).all()).toEqual([{ id: 1 }]);
  database.exec("alter table orders add column state text default 'new'");
  expect(database.prepare(select).all()).toEqual([{ id: 1, state: 'new' }]);
  const first = database.prepare(insert);
  for (let id = 2; id < 300; id += 1) database.prepare(`insert into orders (id) values (${id})`).run();
  const long = `${insert} /* ${'long '.repeat(3_000)} */`;
  database.prepare(long).run(0);
  first.run(300);
  expect(database.prepare('select count(*) as count from orders').get()).toEqual({ count: 301 });
  database.exec('drop table orders');
  expect(() => database.prepare(select).all()).toThrow('no such table');
});
