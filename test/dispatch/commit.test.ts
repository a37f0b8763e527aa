import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock, turn } from '../support/clock.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { Script } from '../support/process.ts';
import type { Receiver, RunContext } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const unawaited = fileURLToPath(new URL('unawaited-process.ts', import.meta.url));

/** An effect that would show if it were made twice: the table takes any number of rows. */
function writeOrder({ commit }: RunContext, callId: string | undefined): Promise<void> {
  return commit((db) => {
    db.exec('create table if not exists orders (call_id text)');
    db.prepare('insert into orders values (?)').run(callId);
  });
}

/** The orders that are in the database after the receiver has stopped. */
async function ordersIn(database: string, receiver: Receiver): Promise<unknown[]> {
  await receiver.stop({ drain: 0 });
  const db = new Database(database, { readonly: true });
  const orders = db.prepare('select call_id from orders').pluck().all();
  db.close();
  return orders;
}

describe('ctx.commit', () => {
  test('writes the effects and the "done" mark: a handler that fails afterwards is not run again', async () => {
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database }, (r) =>
      r.on('*', async (event, context) => {
        await writeOrder(context, event.callId);
        throw new Error('after the commit');
      }),
    );
    await deliver(receiver, bodyOf({ callId: 'call-1' }));
    await logs.until('run_done');
    expect(logs.of('run_failed_after_commit')).toMatchObject([
      { cause: 'Error', location: expect.stringMatching(/commit\.test\.ts:\d+/) },
    ]);
    expect(await ordersIn(database, receiver)).toEqual(['call-1']);
  });

  test('resolves only when it is on disk', async () => {
    const [clock, database] = [new ManualClock(), temporaryDatabase()];
    const seen: string[] = [];
    const { receiver, logs } = await started({ clock, database }, (r) =>
      r.on('*', async (_, { commit }) => {
        await commit((db) => {
          db.exec('create table orders (call_id text)');
          // After the commit, and before the writer can sync it.
          queueMicrotask(() => {
            locker.exec('begin immediate');
            isLocked.resolve();
          });
        });
        seen.push('committed');
      }),
    );
    const locker = new Database(database);
    onTestFinished(() => void locker.close());
    const isLocked = Promise.withResolvers<void>();
    await deliver(receiver);
    await isLocked.promise;
    for (let turns = 0; turns < 50; turns += 1) await turn();
    expect(seen).toEqual([]);
    locker.exec('rollback');
    await clock.runUntil(logs.until('run_done'));
    expect(seen).toEqual(['committed']);
  });

  test('says of a second one that nothing of it was written', async () => {
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database }, (r) =>
      r.on('*', async (event, context) => {
        await writeOrder(context, event.callId);
        await writeOrder(context, 'call-2');
      }),
    );
    await deliver(receiver, bodyOf({ callId: 'call-1' }));
    await logs.until('run_done');
    expect(logs.of('commit_failed')).toMatchObject([{ cause: 'commit_repeated' }]);
    expect(logs.of('run_failed_after_commit')).toMatchObject([
      { cause: 'commit_repeated', location: expect.stringMatching(/commit\.test\.ts:\d+/) },
    ]);
    expect(await ordersIn(database, receiver)).toEqual(['call-1']);
  });

  test.each(['call', 'strict'] as const)(
    'leaves the call to the handler until that has returned, with order %s',
    async (order) => {
      const [gate, seen] = [new Gate(), [] as string[]];
      const { receiver, logs } = await started({ database: temporaryDatabase() }, (r) =>
        r.on('*', { order }, async (event, context) => {
          await writeOrder(context, event.callId);
          if (event.traceId === 'first') await gate.pass();
          seen.push(event.traceId);
        }),
      );
      await deliver(receiver, bodyOf({ traceId: 'first', callId: 'call-1' }));
      await gate.reached;
      await deliver(receiver, bodyOf({ traceId: 'second', callId: 'call-1' }));
      await deliver(receiver, bodyOf({ traceId: 'of-another-call', callId: 'call-2' }));
      await logs.until('run_done', 1);
      gate.open();
      await logs.until('run_done', 3);
      expect(seen).toEqual(['of-another-call', 'first', 'second']);
    },
  );

  test('writes nothing when the effects throw, and the run is tried again', async () => {
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database, retry: { base: 0 } }, (r) =>
      r.on('*', async (event, { attempt, commit }) => {
        await commit((db) => {
          db.exec('create table if not exists orders (call_id text)');
          db.prepare('insert into orders values (?)').run(event.callId);
          if (attempt === 1) throw new Error('in the middle');
        });
      }),
    );
    await deliver(receiver, bodyOf({ callId: 'call-1' }));
    await logs.until('run_done');
    expect(logs.of('run_retry')).toHaveLength(1);
    expect(await ordersIn(database, receiver)).toEqual(['call-1']);
  });

  test.each([
    ['commit', 'has committed it: what it wrote before that is kept'],
    ['commit; begin', 'has committed it: what it wrote before that is kept'],
    ['rollback', 'ended it, so the run does not count as done'],
    ['rollback; begin', 'ended it, so the run does not count as done'],
  ])('says that its effects have ended the transaction with %s', async (word, said) => {
    const errors: unknown[] = [];
    const { receiver, logs } = await started({ retry: { base: 0 } }, (r) => {
      r.database.exec('create table orders (call_id text)');
      for (const name of ['alone', 'sibling'])
        r.on(`Of.${name}`, { name }, async (event, { attempt, commit }) => {
          const effects = commit((db) => {
            db.prepare('insert into orders values (?)').run(event.callId);
            if (attempt === 1) db.exec(word);
          });
          await effects.catch((error: unknown) => errors.push(error));
        });
      r.on('Of.sibling', { name: 'other' }, () => {});
    });
    await deliver(receiver, bodyOf({ eventName: 'Of.alone', callId: 'call-1' }));
    await deliver(receiver, bodyOf({ eventName: 'Of.sibling', callId: 'call-2' }));
    const event = word.startsWith('commit') ? 'run_lost' : 'run_retry';
    const ended = { cause: 'transaction_ended' };
    expect(await logs.until(event, 2)).toMatchObject([ended, ended]);
    await expect.poll(async () => (await receiver.counts()).events.done).toBe(2);
    const error = { code: 'transaction_ended', message: expect.stringContaining(said) };
    expect(errors).toMatchObject([error, error]);
    const written = receiver.database.prepare('select call_id from orders order by 1').all();
    expect(written).toEqual([{ call_id: 'call-1' }, { call_id: 'call-2' }]);
  });

  test('refuses asynchronous effects and a second commit, and says so', async () => {
    const errors: unknown[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r.on('CallHandler.CallEnded', async (_event, { commit }) => {
        // @ts-expect-error: a promise is no effect
        await commit(async () => {}).catch((error: unknown) => errors.push(error));
        await commit(() => {}).catch((error: unknown) => errors.push(error));
      }),
    );
    await deliver(receiver);
    // The effects were not written, so the run isn't done, although the handler has caught the error.
    await logs.until('run_retry');
    expect(errors.map(String)).toEqual([
      expect.stringContaining('synchronous function'),
      expect.stringContaining('once in a run'),
    ]);
  });

  test('leaves other writes of the app as durable as they were', async () => {
    const { receiver, logs } = await started({ database: temporaryDatabase() }, (r) =>
      r.on('*', (event, context) => writeOrder(context, event.callId)),
    );
    await deliver(receiver);
    await logs.until('run_done');
    expect(receiver.database.prepare('pragma synchronous').get()).toEqual({ synchronous: 2 });
  });

  test('fails if its effects find another database locked, and is not begun again and again', async () => {
    let calls = 0;
    const { receiver, logs } = await started({ retry: { attempts: 1 } }, (r) =>
      r.on('*', (_event, { commit }) =>
        commit(() => {
          calls += 1;
          throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
        }),
      ),
    );
    await deliver(receiver);
    await logs.until('run_dead');
    expect(calls).toBe(1);
  });

  test('resolves to what the effects returned', async () => {
    const orders: number[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', async (_event, { commit }) => {
        const order = await commit((db) => {
          db.exec('create table orders (id integer primary key)');
          return db.prepare('insert into orders values (7) returning id').get() as { id: number };
        });
        orders.push(order.id);
      }),
    );
    await deliver(receiver);
    await logs.until('run_done');
    expect(orders).toEqual([7]);
  });

  test("doesn't give away the driver's own connection as what `exec` returns", async () => {
    const given: unknown[] = [];
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', async (_event, { commit }) => {
        given.push(await commit((db) => db.exec('create table orders (id integer primary key)')));
      }),
    );
    await deliver(receiver);
    await logs.until('run_done');
    expect([...given, receiver.database.exec('select 1')]).toEqual([undefined, undefined]);
  });

  test('without a function fails the attempt, and says what it expects', async () => {
    const { receiver, logs } = await started({}, (r) =>
      r.on('*', (_event, { commit }) => {
        void commit(undefined as never);
      }),
    );
    await deliver(receiver);
    expect(await logs.until('run_retry')).toMatchObject([{ cause: 'commit_not_a_function' }]);
  });

  test('that fails and is not awaited fails its attempt', async () => {
    const { receiver, logs } = await started({ retry: { base: 0 } }, (r) =>
      r.on('CallHandler.CallEnded', (_event, { attempt, commit }) => {
        void commit((database) => {
          if (attempt === 1) database.exec('insert into no_such_table values (1)');
        });
      }),
    );
    await deliver(receiver);
    expect(await logs.until('run_retry')).toMatchObject([{ attempt: 1, cause: 'SqliteError' }]);
    expect(await logs.until('run_done')).toMatchObject([{ attempt: 2 }]);
  });

  test('refuses what comes after the deadline, even while a sibling still works on the event', async () => {
    const clock = new ManualClock();
    const database = temporaryDatabase();
    const late = new Gate();
    const sibling = new Gate();
    const rejected = Promise.withResolvers<unknown>();
    const { receiver, logs } = await started({ clock, database, random: () => 0.5 }, (r) =>
      r
        .on('*', { name: 'late', timeout: '1s' }, async (event, context) => {
          if (context.attempt === 1) await late.pass();
          const written = writeOrder(context, event.callId);
          if (context.attempt === 1) written.catch(rejected.resolve);
          await written;
        })
        .on('*', { name: 'sibling', timeout: '1h' }, sibling.pass),
    );
    await deliver(receiver, bodyOf({ callId: 'call-1' }));
    await late.reached;
    await sibling.reached;
    clock.advance(1_000);
    await logs.until('run_retry');
    late.open();
    expect(String(await rejected.promise)).toContain('nothing was committed');
    await clock.timer(500);
    clock.advance(500);
    await logs.until('run_done');
    sibling.open();
    await logs.until('run_done', 2);
    expect(logs.of('run_lost')).toEqual([]);
    expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
    expect(await ordersIn(database, receiver)).toEqual(['call-1']);
  });

  test('that is not awaited counts all the same', async () => {
    const database = temporaryDatabase();
    const { receiver, logs } = await started({ database }, (r) =>
      r.on('*', (event, context) => void writeOrder(context, event.callId)),
    );
    await deliver(receiver, bodyOf({ callId: 'call-1' }));
    await logs.until('run_done');
    expect(await ordersIn(database, receiver)).toEqual(['call-1']);
  });

  test('that is not awaited does not end the process: a refused or hidden failure is logged', async () => {
    const script = new Script(unawaited, '');
    expect(await script.line('effects')).toEqual({ effects: 1 });
    expect(await script.exit()).toBe(0);
    const location = expect.stringMatching(/unawaited-process\.ts:\d+/);
    expect(script.lines('event', 'commit_failed')).toMatchObject([
      { traceId: 'repeated', handler: 'careless', cause: 'commit_repeated', location },
      { traceId: 'late', handler: 'careless', cause: 'commit_too_late', location },
      { traceId: 'hidden', handler: 'careless', cause: 'RangeError', location },
    ]);
    expect(script.lines('event', 'run_retry')).toMatchObject([
      { traceId: 'throwing', cause: 'RangeError' },
      { traceId: 'hidden', cause: 'TypeError' },
    ]);
    expect(script.said('event').filter((event) => event === 'run_done')).toHaveLength(4);
  });
});
