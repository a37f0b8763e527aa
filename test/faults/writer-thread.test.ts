// @module-tag long
/** What deliveries and the app may rely on of the writer thread, tested through the receiver. */
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { block } from '../../src/kit/clock.ts';
import { recordTimeout } from '../../src/store/timeouts.ts';
import { ManualClock, turn } from '../support/clock.ts';
import { address, bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { Script } from '../support/process.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { writtenWhenFree } from '../support/written-when-free.ts';

const poisonous = `create trigger poisonous before insert on events
  when new.trace_id like 'poison-%' begin select raise(abort, 'poisoned'); end`;

const slow = `create trigger slow before insert on events
  when new.trace_id = 'slow' begin select (with recursive numbers(number) as
    (select 1 union all select number + 1 from numbers where number < 300000) select count(*) from numbers); end`;

test('no handler begins before its answer is given, not even beside a delivery that fails', async () => {
  const order: string[] = [];
  const { receiver, logs } = await started({ database: temporaryDatabase() }, (r) =>
    r.on('*', { name: 'noting', concurrency: 100 }, ({ traceId }) => void order.push(`begun ${traceId}`)),
  );
  receiver.database.exec(poisonous);
  // Pins the scheme, so that all the other deliveries are verified in the same way.
  await deliver(receiver, bodyOf({ traceId: 'first' }));
  const traceIds = Array.from({ length: 20 }, (_, index) =>
    index % 5 === 1 ? `poison-${index}` : `t-${index}`,
  );
  // Waits only until the app has the answer to send, not until it is sent.
  const answers = await Promise.all(
    traceIds.map(async (traceId) => {
      const body = bodyOf({ traceId });
      const request = new Request(address, { method: 'POST', headers: signedHeaders(body), body });
      const { status } = await receiver.fetch(request);
      order.push(`answered ${traceId}`);
      return status;
    }),
  );
  const good = traceIds.filter((traceId) => traceId.startsWith('t-'));
  expect(answers).toEqual(traceIds.map((traceId) => (traceId.startsWith('t-') ? 200 : 503)));
  await logs.until('run_done', good.length + 1);
  const early = good.filter(
    (traceId) => order.indexOf(`begun ${traceId}`) < order.indexOf(`answered ${traceId}`),
  );
  expect(early).toEqual([]);
});

test('a delivery that is on disk is acknowledged, even if the app was blocked meanwhile', async () => {
  const [clock, database] = [new ManualClock(), temporaryDatabase()];
  const { receiver } = await started({ clock, database });
  // The commit takes long enough that its answer comes only once the app is blocked.
  await writtenWhenFree(() => receiver.database.exec(slow));
  await deliver(receiver);
  const answer = deliver(receiver, bodyOf({ traceId: 'slow' }));
  // After two turns the event has been sent to the writer thread.
  await turn();
  await turn();
  const reader = new Database(database);
  const written = reader.prepare<[], number>('select count(*) from events').pluck();
  for (let tries = 0; tries < 1_000 && written.get() !== 2; tries += 1) block(10);
  reader.close();
  // Only when the writer thread has answered as well does it grant its lock to the app.
  await writtenWhenFree(() => receiver.database.exec('create table notes (text text)'));
  clock.advance(recordTimeout);
  expect((await answer).json.status).toBe('accepted');
});

test('a transaction that was left open is logged and rolled back, and no delivery is refused for it', async () => {
  const { receiver, logs } = await started({ database: temporaryDatabase() }, (r) => {
    r.database.exec('create table notes (text text)');
    r.on('*', { name: 'noting' }, ({ traceId }, { commit }) =>
      commit((db) => void db.prepare('insert into notes values (?)').run(traceId)),
    );
  });
  await deliver(receiver, bodyOf({ traceId: 'before' }));
  await logs.until('run_done');
  receiver.database.exec("begin immediate; insert into notes values ('left open')");
  expect((await deliver(receiver, bodyOf({ traceId: 'meanwhile' }))).json.status).toBe('accepted');
  await logs.until('run_done', 2);
  expect(logs.of('transaction_left_open')).toHaveLength(1);
  const notes = receiver.database.prepare('select text from notes').all();
  expect(notes).toEqual([{ text: 'before' }, { text: 'meanwhile' }]);
});

test('what users write waits for the deliveries of another receiver of the same process', async () => {
  const database = temporaryDatabase();
  const { receiver: writing } = await started({ database });
  const { receiver: receiving } = await started({ database });
  writing.database.exec('create table notes (text text)');
  const over = new AbortController();
  const pouring = async (): Promise<void> => {
    while (!over.signal.aborted) expect((await deliver(receiving)).status).toBe(200);
  };
  const poured = Array.from({ length: 16 }, pouring);
  const failures: string[] = [];
  for (let count = 0; count < 500; count += 1) {
    try {
      writing.database.prepare('insert into notes values (?)').run(`note ${count}`);
    } catch (error) {
      failures.push((error as Error).message);
    }
    await turn();
  }
  over.abort();
  await Promise.all(poured);
  expect(failures).toEqual([]);
});

test('an app can write although its writer thread ended in the middle of a transaction', async () => {
  const script = fileURLToPath(new URL('./writer-thread-ended.ts', import.meta.url));
  const app = new Script(script, JSON.stringify({ database: temporaryDatabase() }));
  expect(await app.line('after')).toEqual({ after: 200 });
  expect(app.said('slow')).toEqual([503]);
  expect(app.said('handled')).toEqual(['before', 'after', 'again']);
  expect(app.said('processes')).toEqual([[['handler']]]);
  expect(app.said('again')).toEqual([['handler']]);
});

test('a start fails if its writer thread ends before it can write', async () => {
  const script = fileURLToPath(new URL('./writer-ended.ts', import.meta.url));
  const app = new Script(script, JSON.stringify({ database: temporaryDatabase(), isStarting: true }));
  expect(await app.line('stopped')).toEqual({
    stopped: expect.stringContaining('the writer thread has ended') as string,
  });
});
