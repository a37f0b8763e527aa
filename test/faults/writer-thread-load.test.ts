/** The promises under load: thousands of commits, in which deliveries, settlements and users' writes meet. */
import { expect, test } from 'vitest';
import { turn } from '../support/clock.ts';
import { concurrently } from '../support/concurrently.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { Gate } from '../support/gate.ts';
import type { CallEvent, Receiver, StoreCounts } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { writtenWhenFree } from '../support/written-when-free.ts';

const callIds = Array.from({ length: 150 }, (_, index) => `call-${index}`);
const places = [0, 1, 2, 3, 4, 5];
const traceIds = callIds.flatMap((callId) => places.map((place) => `${callId}/${place}`));

/** The events that a handler has seen, for each call. */
class Seen {
  readonly #places = new Map<string, number[]>();
  readonly #active = new Set<string>();
  readonly mistakes: string[] = [];
  count = 0;

  add(traceId: string): void {
    const [callId = '', place] = traceId.split('/');
    this.#places.set(callId, [...(this.#places.get(callId) ?? []), Number(place)]);
    this.count += 1;
  }

  enter(event: CallEvent): void {
    const { callId = '' } = event;
    if (this.#active.has(callId)) this.mistakes.push(`two at once: ${event.traceId}`);
    this.#active.add(callId);
  }

  leave({ callId = '' }: CallEvent): void {
    this.#active.delete(callId);
  }

  get wrong(): readonly string[] {
    const seen = callIds.map((callId) => `${callId}: ${(this.#places.get(callId) ?? []).join()}`);
    return [...seen.filter((order) => !order.endsWith(`: ${places.join()}`)), ...this.mistakes];
  }
}

/** Two handlers that fail now and then: with order `strict` the call waits for the retry, with `call` it goes on. */
function watching(strict: Seen, call: Seen, before: () => Promise<void> = async () => {}) {
  const retry = { attempts: 5, base: 1 };
  return (receiver: Receiver) =>
    receiver
      .on(
        '*',
        { name: 'strict', order: 'strict', retry, concurrency: 8 },
        async (event, { attempt, commit }) => {
          await before();
          strict.enter(event);
          await turn();
          strict.leave(event);
          if (attempt === 1 && event.traceId.endsWith('7/2')) throw new Error('first time');
          if (!event.traceId.endsWith('4')) return strict.add(event.traceId);
          // With the commit the run is done, and another process may begin the call's next run.
          await commit((db) => {
            db.prepare('insert into notes values (?)').run(event.traceId);
            strict.add(event.traceId);
          });
        },
      )
      .on('*', { name: 'call', order: 'call', retry, concurrency: 8 }, async (event, { attempt }) => {
        await before();
        call.enter(event);
        await turn();
        call.leave(event);
        if (attempt === 1) call.add(event.traceId);
        if (attempt === 1 && event.traceId.endsWith('3')) throw new Error('first time');
      });
}

/** Delivers each event of a call once the one before is acknowledged, as the platform does; each in two copies. */
async function deliverAll(receiverOf: (place: number) => Receiver): Promise<void> {
  await concurrently(callIds, 40, async (callId) => {
    for (const place of places) {
      const body = bodyOf({ traceId: `${callId}/${place}`, callId });
      const copies = [deliver(receiverOf(place), body), deliver(receiverOf(place + 1), body)];
      const statuses = (await Promise.all(copies)).map(({ json }) => String(json.status));
      expect(statuses.toSorted((one, other) => one.localeCompare(other))).toEqual(['accepted', 'duplicate']);
    }
  });
}

const notesTable = 'create table notes (text text)';

test(
  'the events of each call are handled once and in their order, and users write meanwhile',
  { tags: 'long' },
  async () => {
    const [strict, call] = [new Seen(), new Seen()];
    const register = watching(strict, call);
    const { receiver, logs } = await started({ database: temporaryDatabase() }, (r) => {
      r.database.exec(notesTable);
      register(r);
    });
    const { database } = receiver;
    let written = 0;
    const over = new AbortController();
    const writing = (async () => {
      const insert = database.prepare("insert into notes values ('mine')");
      for (; !over.signal.aborted; await turn()) {
        await writtenWhenFree(() => insert.run());
        await writtenWhenFree(() => database.exec("insert into notes values ('mine')"));
        await writtenWhenFree(() =>
          database.transaction(() => {
            insert.run();
            database.transaction(() => insert.run());
          }),
        );
        written += 4;
      }
    })();
    await deliverAll(() => receiver);
    await logs.until('run_done', 2 * traceIds.length);
    over.abort();
    await writing;
    expect(strict.wrong).toEqual([]);
    expect(call.wrong).toEqual([]);
    expect(logs.of('run_done')).toHaveLength(2 * traceIds.length);
    expect((await receiver.counts()).events).toEqual({ new: 0, open: 0, done: traceIds.length });
    expect(database.prepare("select count(*) as count from notes where text = 'mine'").get()).toEqual({
      count: written,
    });
  },
);

test('a backlog beyond what waits in memory is handled in order too', { tags: 'long' }, async () => {
  const [strict, call, gate] = [new Seen(), new Seen(), new Gate()];
  const register = watching(strict, call, gate.pass);
  const { receiver, logs } = await started({ database: temporaryDatabase() }, (r) => {
    r.database.exec(notesTable);
    register(r);
  });
  let delivered = 0;
  const opening = (async () => {
    // The second half of the events comes in while the first half is handled.
    while (delivered < traceIds.length / 2) await turn();
    gate.open();
  })();
  await deliverAll(() => {
    delivered += 0.5;
    return receiver;
  });
  await opening;
  await logs.until('run_done', 2 * traceIds.length);
  expect(strict.wrong).toEqual([]);
  expect(call.wrong).toEqual([]);
});

test('two receivers on one file take each event once, and keep the order of calls', async () => {
  const database = temporaryDatabase();
  const [strict, call] = [new Seen(), new Seen()];
  const register = watching(strict, call);
  const one = await started({ database }, (r) => {
    r.database.exec(notesTable);
    register(r);
  });
  const other = await started({ database }, register);
  await deliverAll((place) => (place % 2 === 0 ? one : other).receiver);
  const doneRuns = () => one.logs.of('run_done').length + other.logs.of('run_done').length;
  await expect.poll(doneRuns).toBeGreaterThanOrEqual(2 * traceIds.length);
  expect(strict.wrong).toEqual([]);
  expect(call.wrong).toEqual([]);
});

test(
  'stopped in the middle of load, what was acknowledged is handled at the next start',
  { tags: 'long' },
  async () => {
    const database = temporaryDatabase();
    const handled: string[] = [];
    const register = (r: Receiver) =>
      r.on('*', { name: 'noting' }, ({ traceId }) => void handled.push(traceId));
    const first = await started({ database }, register);
    const acknowledged: string[] = [];
    let stopping: Promise<void> | undefined;
    await concurrently(traceIds, 60, async (traceId) => {
      const { status } = await deliver(first.receiver, bodyOf({ traceId }));
      if (status === 200) acknowledged.push(traceId);
      if (acknowledged.length === 300) stopping ??= first.receiver.stop();
    });
    // Not that none was refused before: on a busy machine, one of many writes may take longer than its sender waits.
    expect(stopping).toBeDefined();
    await stopping;
    const { receiver } = await started({ database }, register);
    const isLeft = ({ events }: StoreCounts): boolean => events.new + events.open > 0;
    await expect.poll(async () => isLeft(await receiver.counts())).toBe(false);
    // The end of each run that had begun was written, so no event was handled twice.
    expect(new Set(handled).size).toBe(handled.length);
    // Events that were written, but too late to be acknowledged, are handled as well.
    expect(handled).toEqual(expect.arrayContaining(acknowledged));
    await receiver.stop();
    const third = await started({ database });
    expect((await third.receiver.counts()).events).toEqual({ new: 0, open: 0, done: handled.length });
  },
);
