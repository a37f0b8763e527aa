import Database from 'better-sqlite3';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { BodyDecoder, unlimited } from '../../src/events/decoding.ts';
import { readBytes } from '../../src/events/read-event.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { recordOf } from '../../src/store/event-record.ts';
import { concurrently } from '../support/concurrently.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Script } from '../support/process.ts';
import { started } from '../support/receiver.ts';
import { withStore } from '../support/inbox.ts';
import { temporaryDatabase } from '../support/temporary.ts';

const script = fileURLToPath(new URL('./replay-process.ts', import.meta.url));
/** Not a multiple of a step's size: the last step has room for events that arrive meanwhile, but must not take them. */
const count = 3_050;
const calls = 800;
/** When the first event arrived, longer ago than the join waits; another arrived each millisecond after that. */
const arrival = systemClock.now() - 2 * 3_600_000;

/** An inbox of many events that are done. */
async function filledDatabase(): Promise<string> {
  const database = temporaryDatabase();
  const decoder = new BodyDecoder(unlimited);
  await withStore(database, async (store) => {
    const record = async (index: number) => {
      const body = Buffer.from(bodyOf({ traceId: `trace-${index}`, callId: `call-${index % calls}` }));
      const bytes = { body, headers: {}, receivedAt: arrival + index };
      const reading = await readBytes(decoder, bytes);
      if (!reading.ok) throw new Error('unreadable');
      await store.record(recordOf(reading.event, bytes), false).written;
    };
    await concurrently([...Array.from({ length: count }).keys()], 50, record);
    for (let left = count; left > 0;) {
      const events = await store.claimEvents(left);
      await Promise.all(events.map((event) => store.finish(event)));
      left -= events.length;
    }
  });
  return database;
}

test('a replay whose process is killed continues at the next start, and runs each run once', async () => {
  const database = await filledDatabase();
  const child = new Script(script, JSON.stringify({ database }));
  expect(await child.exit()).toBeNull();
  expect(child.said('survived')).toEqual([]);

  const db = new Database(database);
  const [replay, ...others] = db.prepare('select * from audit').all() as {
    events: number;
    runs: number;
    finished_at: number | null;
  }[];
  const put = db.prepare('select sequence, state from runs where replay = 1 order by sequence').all();
  const open = db
    .prepare("select count(distinct sequence) from runs where state in ('due', 'claimed', 'blocked')")
    .pluck()
    .get();
  db.close();
  expect(others).toEqual([]);
  expect(replay).toMatchObject({ events: put.length, runs: put.length, finished_at: null });
  expect(put.length).toBeGreaterThan(0);
  expect(put.length).toBeLessThan(count);
  expect(put).toEqual(put.map((_, index) => expect.objectContaining({ sequence: index + 1 })));
  expect(open).toBe(put.length);

  const seen: string[] = [];
  const { receiver, logs } = await started({ database }, (r) =>
    r.on('*', { name: 'deadly' }, ({ traceId }, { replay: mark }) => {
      expect(mark).toMatchObject({ id: 1, by: 'a test' });
      seen.push(traceId);
    }),
  );
  await logs.until('events_replayed');
  await logs.until('run_done', count);
  expect(seen).toHaveLength(count);
  expect(new Set(seen).size).toBe(count);
  expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: count });
  const progress = { state: 'done', share: 1, handlers: { deadly: count } };
  expect((await receiver.audit.list()).entries).toMatchObject([
    { id: 1, events: count, runs: count, progress },
  ]);
});

test('deliveries are answered during a large replay', { tags: 'long' }, async () => {
  const database = await filledDatabase();
  const { receiver, logs } = await started({ database }, (r) =>
    r
      .on('*', { name: 'some' }, () => {})
      // One run for each call, although several steps replay events of it.
      .onCall({ name: 'join', events: ['CallHandler.CallEnded'], within: '1h' }, () => {}),
  );
  const handlers = { some: count, join: calls };
  // An event that arrives during the dry run is not counted.
  const foreseen = receiver.events.replay({ since: 0 }, { dryRun: true });
  await deliver(receiver);
  await logs.until('run_done', 2);
  expect(await foreseen).toMatchObject({ handlers });
  const over = new AbortController();
  const replay = receiver.events.replay({ until: arrival + count }).finally(() => over.abort());
  let answered = 0;
  while (!over.signal.aborted) {
    expect((await deliver(receiver)).status).toBe(200);
    answered += 1;
  }
  // At least one for every second step of 100 events: no delivery waits for the whole replay.
  expect(answered).toBeGreaterThan(count / 200);
  expect(await replay).toMatchObject({ events: count, handlers });
  await logs.until('run_done', count + calls + 2 * (answered + 1));
});
