import { once } from 'node:events';
import type { PoolClient } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { clockWithoutWriteTimeout } from '../../support/clock-without-write-timeout.ts';
import { maxUserTransactions } from '../../../src/store/postgres/connection/target.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { bodyOf, deliver } from '../../support/deliveries.ts';
import { Gate } from '../../support/gate.ts';
import { Logs } from '../../support/logs.ts';
import { testDatabase } from '../../support/postgres.ts';
import { createReceiver, type Receiver, type RunContext } from '../../support/public.ts';
import { deliverUntilTaken } from '../../support/receiver.ts';
import { secret } from '../../support/deliveries.ts';

type Context = RunContext<PoolClient>;
type Handle = (context: Context, callId: string) => unknown;

describe('ctx.commit on Postgres', () => {
  test('writes the rows and the end of the run together: a handler that fails afterwards is not run again', async () => {
    const inbox = await startedWith(async (context, callId) => {
      await context.commit((tx) => inbox.writeOrder(tx, callId));
      throw new Error('after the commit');
    });
    await inbox.deliverCall();
    await inbox.logs.until('run_done');
    expect(inbox.logs.of('run_failed_after_commit')).toHaveLength(1);
    expect(await inbox.orders()).toEqual(['call-1']);
  });

  test('resolves to what the function returned', async () => {
    const results: unknown[] = [];
    const inbox = await startedWith(async (context) => {
      results.push(await context.commit(async (tx) => (await tx.query('select 7 as seven')).rows));
      results.push(await context.commit(() => 8).catch((error: unknown) => String(error)));
    });
    await inbox.deliverCall();
    await inbox.logs.until('run_done');
    expect(results).toEqual([[{ seven: 7 }], expect.stringContaining('second call')]);
  });

  test('undoes everything if the function fails in the middle, and is made again', async () => {
    const inbox = await startedWith(async (context, callId) =>
      context.commit(async (tx) => {
        await inbox.writeOrder(tx, callId);
        if (context.attempt === 1) await tx.query('select no_such_column');
      }),
    );
    await inbox.deliverCall();
    expect(await inbox.logs.until('run_retry')).toMatchObject([{ attempt: 1, cause: 'DatabaseError' }]);
    await inbox.logs.until('run_done');
    expect(await inbox.orders()).toEqual(['call-1']);
  });

  test('counts although nobody awaits it', async () => {
    const inbox = await startedWith((context, callId) => {
      void context.commit((tx) => inbox.writeOrder(tx, callId));
    });
    await inbox.deliverCall();
    await inbox.logs.until('run_done');
    expect(await inbox.orders()).toEqual(['call-1']);
  });

  test('is refused once the attempt has ended, and writes nothing', async () => {
    const late = Promise.withResolvers<unknown>();
    const inbox = await startedWith((context, callId) => {
      const commitLate = async () => {
        await inbox.logs.until('run_done');
        await context.commit((tx) => inbox.writeOrder(tx, callId));
      };
      void commitLate().then(late.resolve, late.resolve);
    });
    await inbox.deliverCall();
    expect(await late.promise).toMatchObject({ code: 'commit_too_late' });
    expect(await inbox.orders()).toEqual([]);
    expect((await inbox.receiver.counts()).events).toEqual({ new: 0, open: 0, done: 1 });
  });

  test(
    'gives up at the deadline what never ends, and its transaction is of no use from then on',
    { tags: 'long' },
    async () => {
      const late = Promise.withResolvers<unknown>();
      const inbox = await startedWith(async (context, callId) => {
        await context.commit(async (tx) => {
          await inbox.writeOrder(tx, callId);
          if (context.attempt > 1) return;
          await new Promise<void>((resolve) => context.signal.addEventListener('abort', () => resolve()));
          // The attempt is over here, and so is the connection that was given for it.
          setImmediate(() => void inbox.writeOrder(tx, 'late').then(late.resolve, late.resolve));
          await new Promise(() => {});
        });
      }, '1s');
      await inbox.deliverCall();
      await inbox.logs.until('run_done');
      expect(String(await late.promise)).toContain('ctx.commit passes to its function');
      expect(await inbox.orders()).toEqual(['call-1']);
    },
  );

  test('is made again if its connection is lost before COMMIT', async () => {
    const inbox = await startedWith(async (context, callId) =>
      context.commit(async (tx) => {
        await inbox.writeOrder(tx, callId);
        if (context.attempt === 1) await inbox.sever(tx);
      }),
    );
    await inbox.deliverCall();
    await inbox.logs.until('run_done');
    expect(inbox.logs.of('run_retry')).toMatchObject([{ attempt: 1 }]);
    expect(await inbox.orders()).toEqual(['call-1']);
  });

  test('may wait between its statements for longer than the inbox does', async () => {
    const limits: unknown[] = [];
    const inbox = await startedWith((context) =>
      context.commit(async (tx) => {
        limits.push(...(await tx.query('show idle_in_transaction_session_timeout')).rows);
      }),
    );
    await inbox.deliverCall();
    await inbox.logs.until('run_done');
    expect(limits).toEqual([{ idle_in_transaction_session_timeout: '0' }]);
  });

  test(
    'fails with the reason for which the database has ended the connection, though nothing was asked of it then',
    { tags: 'long' },
    async () => {
      const failed: unknown[] = [];
      const inbox = await startedWith(async (context) => {
        const committing = context.commit(async (tx) => {
          if (context.attempt > 1) return;
          const lost = once(tx, 'error');
          await tx.query("set local idle_in_transaction_session_timeout = '1ms'");
          await lost;
          await tx.query('select');
        });
        await committing.catch((error: unknown) => {
          failed.push(error);
          throw error;
        });
      });
      await inbox.deliverCall();
      await inbox.logs.until('run_done');
      const message = 'terminating connection due to idle-in-transaction timeout';
      expect(failed).toMatchObject([{ code: '25P03', message }]);
    },
  );

  test('of many handlers at once, slowly, leaves connections to deliveries', { tags: 'long' }, async () => {
    const gate = Promise.withResolvers<void>();
    const inbox = await startedWith(async (context, callId) =>
      context.commit(async (tx) => {
        await inbox.writeOrder(tx, callId);
        await gate.promise;
      }),
    );
    for (let call = 1; call <= 20; call += 1) {
      // A sender that was answered too late comes again with the same event.
      const body = bodyOf({ callId: `call-${call}` });
      await expect.poll(async () => (await inbox.deliverCall(body)).status).toBe(200);
    }
    gate.resolve();
    await inbox.logs.until('run_done', 20);
    expect(new Set(await inbox.orders()).size).toBe(20);
  });

  test('of many handlers at once, slowly, leaves a connection to all other work, and to their own questions', async () => {
    const gate = new Gate();
    const known: unknown[] = [];
    let begun = 0;
    const inbox = await startedWith((context) =>
      context.commit(async () => {
        begun += 1;
        await gate.pass();
        known.push((await inbox.receiver.counts()).events.new);
      }),
    );
    const calls = Array.from({ length: 2 * maxUserTransactions }, (_, call) =>
      bodyOf({ callId: `call-${call}` }),
    );
    await Promise.all(calls.map((body) => deliverUntilTaken(inbox.receiver, body)));
    await expect.poll(() => begun).toBe(maxUserTransactions);
    expect((await inbox.receiver.counts()).events.new).toBe(calls.length);
    gate.open();
    await inbox.logs.until('run_done', calls.length);
    expect(known).toHaveLength(calls.length);
    expect(inbox.logs.of('run_retry')).toEqual([]);
  });

  describe('beside other handlers of its event', () => {
    /** A handler that commits slowly, another that commits at once, and one that only returns. */
    const startedWithSiblings = async () => {
      const gate = new Gate();
      const inbox = await startedWith(
        async (context, callId) =>
          context.commit(async (tx) => {
            await inbox.writeOrder(tx, callId);
            await gate.pass();
          }),
        '1m',
        (receiver) =>
          receiver
            .on('*', { name: 'returning' }, () => gate.reached)
            .on('*', { name: 'committing' }, async (_event, context) => {
              await gate.reached;
              await context.commit((tx) => inbox.writeOrder(tx, 'at once'));
            }),
      );
      return { ...inbox, gate };
    };
    const eventsOf = async ({ receiver }: Pick<Awaited<ReturnType<typeof startedWith>>, 'receiver'>) =>
      (await receiver.counts()).events;

    test('delays none of them if it takes long, and the event is done with the last one', async () => {
      const inbox = await startedWithSiblings();
      await inbox.deliverCall();
      await inbox.logs.until('run_done', 2);
      expect(await inbox.orders()).toEqual(['at once']);
      expect(await eventsOf(inbox)).toEqual({ new: 1, open: 0, done: 0 });
      inbox.gate.open();
      await inbox.logs.until('run_done', 3);
      expect((await inbox.orders()).toSorted()).toEqual(['at once', 'call-1']);
      expect(await eventsOf(inbox)).toEqual({ new: 0, open: 0, done: 1 });
    });

    test('counts once, although the end of the event fails after it', { tags: 'long' }, async () => {
      const inbox = await startedWithSiblings();
      await inbox.deliverCall();
      await inbox.logs.until('run_done', 2);
      const restore = await inbox.refuseEnds();
      inbox.gate.open();
      await inbox.logs.until('dispatch_failed');
      await restore();
      await inbox.logs.until('run_done', 3);
      expect(inbox.logs.of('run_retry')).toEqual([]);
      expect((await inbox.orders()).toSorted()).toEqual(['at once', 'call-1']);
      expect(await eventsOf(inbox)).toEqual({ new: 0, open: 0, done: 1 });
    });
  });

  test('reads the call on its own connection, so that as many may do so as commit at once', async () => {
    const statuses: unknown[] = [];
    const all = Promise.withResolvers<void>();
    let begun = 0;
    const inbox = await startedWith(async (context, callId) => {
      await context.commit(async (tx) => {
        await inbox.writeOrder(tx, callId);
        begun += 1;
        if (begun === maxUserTransactions) all.resolve();
        await all.promise;
        statuses.push((await context.call())?.status);
      });
      expect(await context.call()).toMatchObject({ callId });
    });
    const calls = Array.from({ length: maxUserTransactions }, (_, place) =>
      bodyOf({ callId: `call-${place}` }),
    );
    await Promise.all(calls.map((body) => deliverUntilTaken(inbox.receiver, body)));
    await inbox.logs.until('run_done', calls.length);
    expect(statuses).toEqual(calls.map(() => 'ended'));
    for (const failed of ['run_retry', 'run_failed_after_commit'] as const)
      expect(inbox.logs.of(failed)).toEqual([]);
  });

  test('leaves its connection alone if the call is read beside it', async () => {
    const statuses: unknown[] = [];
    const inbox = await startedWith(async (context, callId) => {
      const hasFailed = Promise.withResolvers<void>();
      const isRead = Promise.withResolvers<void>();
      const committing = context.commit(async (tx) => {
        await inbox.writeOrder(tx, callId);
        await tx.query('savepoint before');
        // Until the rollback, nothing can be read on this connection.
        await expect(tx.query('select no_such_column')).rejects.toThrow('no_such_column');
        hasFailed.resolve();
        await isRead.promise;
        await tx.query('rollback to before');
      });
      await hasFailed.promise;
      statuses.push((await context.call())?.status);
      isRead.resolve();
      await committing;
    });
    await inbox.deliverCall();
    await inbox.logs.until('run_done');
    expect(statuses).toEqual(['ended']);
  });

  test('is undone if a statement fails that the function did not await, and the process goes on', async () => {
    const inbox = await startedWith(async (context, callId) =>
      context.commit(async (tx) => {
        await inbox.writeOrder(tx, callId);
        if (context.attempt === 1) void tx.query('select no_such_column');
      }),
    );
    await inbox.deliverCall();
    expect(await inbox.logs.until('run_retry')).toMatchObject([{ attempt: 1, cause: 'DatabaseError' }]);
    await inbox.logs.until('run_done');
    expect(await inbox.orders()).toEqual(['call-1']);
  });

  test('a transaction that the function ends by itself does not count', { tags: 'long' }, async () => {
    const inbox = await startedWith(async (context, callId) =>
      context.commit(async (tx) => {
        await inbox.writeOrder(tx, callId);
        if (context.attempt === 1) await tx.query('rollback');
      }),
    );
    await inbox.deliverCall();
    await inbox.logs.until('run_done');
    expect(inbox.logs.of('run_retry')).toMatchObject([{ attempt: 1 }]);
    expect(await inbox.orders()).toEqual(['call-1']);
  });

  test('a transaction that the function commits by itself is kept with the end of the run, and the error says so', async () => {
    let failed: unknown;
    const inbox = await startedWith(async (context, callId) => {
      const committing = context.commit(async (tx) => {
        await inbox.writeOrder(tx, callId);
        await tx.query('commit');
      });
      await committing.catch((error: unknown) => {
        failed = error;
        throw error;
      });
    });
    await inbox.deliverCall();
    expect(await inbox.logs.until('run_lost')).toMatchObject([{ cause: 'transaction_ended' }]);
    expect(failed).toMatchObject({
      code: 'transaction_ended',
      message: expect.stringContaining('has committed it: what it wrote before that is kept'),
    });
    expect(await inbox.orders()).toEqual(['call-1']);
  });
});

/** A receiver on a schema of its own, and a table of the user's beside its tables. */
async function startedWith(
  handle: Handle,
  timeout: '1s' | '1m' = '1m',
  registerSiblings: (receiver: Receiver<PoolClient>) => unknown = () => {},
) {
  const { connectionString, schema } = await testDatabase();
  const store = new PostgresStore({ connectionString, pool: undefined, schema }, clockWithoutWriteTimeout);
  const logs = new Logs();
  const receiver = createReceiver({ secrets: secret, database: store, logger: logs.logger });
  const retry = { attempts: 3, base: '1ms' } as const;
  receiver.on('*', { timeout, retry }, (event, context) => handle(context, event.callId ?? ''));
  registerSiblings(receiver);
  await receiver.start();
  onTestFinished(() => receiver.stop({ drain: 0 }));
  const { Client } = await import('pg');
  const client = new Client({ connectionString });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`create table "${schema}".orders (call_id text)`);

  return {
    receiver,
    logs,
    deliverCall: (body = bodyOf({ callId: 'call-1' })) => deliver(receiver, body),
    writeOrder: async (tx: PoolClient, callId: string) =>
      void (await tx.query(`insert into "${schema}".orders values ($1)`, [callId])),
    orders: async () => {
      const { rows } = await client.query<{ call_id: string }>(`select call_id from "${schema}".orders`);
      return rows.map(({ call_id: callId }) => callId);
    },
    /** Lets the end of every event fail. Returns the function that ends this. */
    refuseEnds: async () => {
      await client.query(`
        create function "${schema}".refuse() returns trigger language plpgsql as 'begin raise ''no end''; end';
        create trigger refuse before insert on "${schema}".ended execute function "${schema}".refuse()`);
      return () => client.query(`drop trigger refuse on "${schema}".ended`);
    },
    /** Ends the connection from outside. */
    sever: async (tx: PoolClient) => {
      const { rows } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
      await client.query('select pg_terminate_backend($1)', [rows[0]?.pid]);
    },
  };
}
