import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { deadLettersOf } from '../support/dead-letters.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** Changes the bytes of one event, as a broken disk or a person with an SQL tool may do. */
function spoil(database: string, traceId: string): void {
  const connection = new Database(database);
  connection
    .prepare(
      "update bodies set body = x'ff00' where sequence = (select sequence from events where trace_id = ?)",
    )
    .run(traceId);
  connection.close();
}

test('an event whose stored bytes were changed becomes a dead letter, and those claimed with it are handled', async () => {
  const database = temporaryDatabase();
  const gate = new Gate();
  const { receiver } = await started({ database, concurrency: 1 }, (r) => r.on('*', () => gate.pass()));
  for (const traceId of ['active', 'spoilt', 'sound']) await deliver(receiver, bodyOf({ traceId }));
  await gate.reached;
  const stopping = receiver.stop();
  gate.open();
  await stopping;
  spoil(database, 'spoilt');

  const seen: string[] = [];
  const next = await started({ database }, (r) => r.on('*', (event) => seen.push(event.traceId)));
  await next.logs.until('run_done');
  await next.logs.until('event_unreadable');
  await next.receiver.stop();
  const last = await started({ database });
  expect(seen).toEqual(['sound']);
  expect(await deadLettersOf(last.receiver)).toMatchObject([{ traceId: 'spoilt', attempts: 0 }]);
  expect((await last.receiver.counts()).events).toEqual({ new: 0, open: 0, done: 3 });
});

test('a run that waits for its next attempt over changed bytes becomes a dead letter', async () => {
  const database = temporaryDatabase();
  const failing = await started({ database, retry: { base: 1 } }, (r) =>
    r.on('*', { name: 'failing' }, () => {
      throw new Error('not yet');
    }),
  );
  await deliver(failing.receiver, bodyOf({ traceId: 'spoilt' }));
  await failing.logs.until('run_retry');
  await failing.receiver.stop();
  spoil(database, 'spoilt');

  const next = await started({ database }, (r) => r.on('*', { name: 'failing' }, () => {}));
  await next.logs.until('event_unreadable');
  await next.receiver.stop();
  const last = await started({ database });
  expect(await deadLettersOf(last.receiver)).toMatchObject([{ traceId: 'spoilt', handler: 'failing' }]);
});
