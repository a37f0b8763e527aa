import { expect, onTestFinished, test } from 'vitest';
import { postgres } from '../../../src/store/postgres/index.ts';
import { concurrently } from '../../support/concurrently.ts';
import { bodyOf, secret } from '../../support/deliveries.ts';
import { Logs } from '../../support/logs.ts';
import { testDatabase } from '../../support/postgres.ts';
import { createReceiver } from '../../support/public.ts';
import { deliverUntilTaken } from '../../support/receiver.ts';
import { transactionPooler } from '../../support/transaction-pooler.ts';

const events = 200;

test('behind a pooler in transaction mode, receivers share an inbox, and each effect is committed once', async () => {
  const { connectionString, schema } = await testDatabase();
  // Fewer connections than one receiver makes.
  const pooled = await transactionPooler(connectionString, 3);
  const logs = new Logs();
  const start = async () => {
    const database = postgres({ connectionString: pooled, schema });
    const receiver = createReceiver({ secrets: secret, database, logger: logs.logger });
    onTestFinished(() => receiver.stop({ drain: 0 }));
    receiver.on('*', { retry: { base: 1 } }, async (event, { attempt, commit }) => {
      if (attempt === 1 && event.traceId.endsWith('7')) throw new Error('not yet');
      await commit(async (tx) => {
        await tx.query(`insert into ${schema}.effects values ($1)`, [event.traceId]);
        await tx.query('savepoint mine; release savepoint mine');
      });
    });
    await receiver.start();
    return receiver;
  };
  const first = await start();
  await first.database.transaction((tx) => tx.query(`create table ${schema}.effects (trace_id text)`));
  const receivers = [first, await start()];
  const places = Array.from({ length: events }, (_, place) => place);
  await concurrently(places, 16, async (place) => {
    const body = bodyOf({ traceId: `trace-${place}`, callId: `call-${place % 20}` });
    for (const receiver of receivers) await deliverUntilTaken(receiver, body);
  });
  await logs.until('run_done', events);
  const written = await first.database.transaction(async (tx) => {
    const { rows } = await tx.query<{ trace_id: string }>(`select trace_id from ${schema}.effects`);
    return rows.map((row) => row.trace_id);
  });
  expect(written.toSorted()).toEqual(places.map((place) => `trace-${place}`).toSorted());
});
