/**
 * Events that kill whoever reads or handles them: the number of deaths is bounded, nobody else is blamed, and the events
 * of others go on.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { deadLettersOf } from '../support/dead-letters.ts';
import { bodyOf, deliver, deliverAll, post } from '../support/deliveries.ts';
import { type ProcessOptions, ReceiverProcess } from '../support/process.ts';
import { RetryLater } from '../support/public.ts';
import { made, started } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** More deaths than any of these events may cause. */
const tooMany = 12;

/** By how many events may be read at the most: see `maxReadingCrashes`. */
const readingDeaths = 5;

function optionsFor(handlers: ProcessOptions['handlers']): ProcessOptions {
  const folder = temporaryFolder();
  return { database: join(folder, 'inbox.db'), file: join(folder, 'handled.txt'), handlers };
}

/** Each once: a handler whose process dies before its outcome is durable is called again, as promised. */
function handledAtLeastOnce({ file }: ProcessOptions): string[] {
  const handled = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  return [...new Set(handled)].toSorted();
}

async function send(process: ReceiverProcess, body: string): Promise<boolean> {
  return post(await process.url(), body).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/**
 * Starts processes, one after the death of the other, until one has nothing left to do, and sends each of them a new
 * event. Returns how many have died.
 */
async function deathsOf(options: ProcessOptions, ordinary: string[]): Promise<number> {
  const unsent: string[] = [];
  for (let deaths = 0; deaths < tooMany; deaths += 1) {
    const process = new ReceiverProcess(options);
    const hasDied = process.exit().then(() => true);
    const traceId = `ordinary-${deaths}`;
    ordinary.push(traceId);
    unsent.push(bodyOf({ traceId }));
    const work = async (): Promise<boolean> => {
      // As the platform does: again, to the next process, until it is acknowledged.
      while (unsent[0] !== undefined && !process.hasExited)
        if (await send(process, unsent[0])) unsent.shift();
      // Asked without a pause, it would have the CPU for nothing else.
      while (!(await isIdle(process))) await setTimeout(50);
      return false;
    };
    if (!(await Promise.race([hasDied, work().catch(() => hasDied)]))) {
      await process.stop();
      expect(unsent).toEqual([]);
      return deaths;
    }
  }
  return tooMany;
}

async function isIdle(process: ReceiverProcess): Promise<boolean> {
  const { events, runs } = await process.counts();
  return events.new + events.open + runs.due + runs.running + runs.blocked === 0;
}

async function deadLettersIn({ database }: ProcessOptions) {
  const { receiver } = made({ database });
  await receiver.start();
  return deadLettersOf(receiver);
}

/** Stores events that nobody handles yet. */
async function recorded({ database }: ProcessOptions, bodies: readonly string[]): Promise<void> {
  const { receiver } = made({ database });
  await receiver.start();
  await deliverAll(receiver, bodies);
  await receiver.stop();
}

const deadlyToRead = { deadlyToRead: true };

test(
  'an event that kills every process that reads it becomes a dead letter before its handlers are known',
  { tags: 'long' },
  async () => {
    const options = optionsFor('deadly');
    await recorded(options, [
      bodyOf({ traceId: 'poison', callId: 'c', payload: deadlyToRead }),
      bodyOf({ traceId: 'innocent' }),
    ]);

    const ordinary = ['innocent'];
    expect(await deathsOf({ ...options, diesReading: true }, ordinary)).toBe(1 + readingDeaths);
    expect(handledAtLeastOnce(options)).toEqual(ordinary.toSorted());
    expect(await deadLettersIn(options)).toMatchObject([
      { traceId: 'poison', callId: 'c', reason: 'the process ended 5 times while it read the event' },
    ]);
  },
);

test('a stored run whose event kills every process that reads it becomes a dead letter without an attempt', async () => {
  const options = optionsFor('deadly');
  const { receiver } = await started({ database: options.database }, (r) =>
    r.on('*', { name: 'deadly' }, () => {
      throw new RetryLater('1h');
    }),
  );
  await deliver(receiver, bodyOf({ traceId: 'poison', payload: deadlyToRead }));
  await expect.poll(async () => (await receiver.counts()).runs.due).toBe(1);
  await receiver.stop();
  // As if others had died reading it before: the last of them are counted here, and all of them in the test above.
  const before = readingDeaths - 2;
  const connection = new Database(options.database);
  connection.exec(`
      update runs set due_at = 0;
      insert into crash_counts (sequence, count, reading_crashes) values (1, ${before}, ${before})`);
  connection.close();

  const ordinary: string[] = [];
  expect(await deathsOf({ ...options, diesReading: true }, ordinary)).toBe(readingDeaths - before);
  expect(handledAtLeastOnce(options)).toEqual(ordinary.toSorted());
  expect(await deadLettersIn(options)).toMatchObject([
    {
      traceId: 'poison',
      handler: 'deadly',
      attempts: 1,
      reason: expect.stringContaining('the process ended 5 times while it read the event'),
    },
  ]);
});

test(
  'with a single attempt, only the run that kills is a dead letter: those beside it are called again, or for the first time',
  { tags: 'long' },
  async () => {
    const options = optionsFor('once');
    const first = new ReceiverProcess(options);
    const beside = Array.from({ length: 30 }, (_, index) => `beside-${index}`);
    for (const traceId of beside) {
      expect(await send(first, bodyOf({ traceId, payload: { slow: true } }))).toBe(true);
    }
    await send(first, bodyOf({ traceId: 'poison', payload: { deadly: true } }));
    await first.exit();

    const ordinary = [...beside];
    // The first try, which nobody counted, and the attempt that the run has.
    expect(1 + (await deathsOf(options, ordinary))).toBe(2);
    expect(handledAtLeastOnce(options)).toEqual(ordinary.toSorted());
    expect(await deadLettersIn(options)).toMatchObject([
      {
        traceId: 'poison',
        attempts: 1,
        reason: 'the process ended during an attempt, and no attempt is left after 1',
      },
    ]);
  },
);

test(
  'an event whose handlers all have stored runs is not read again for them',
  { tags: 'long' },
  async () => {
    const options = optionsFor('gated');
    for (const round of ['uncounted', 'counted']) {
      const process = new ReceiverProcess(options);
      if (round === 'uncounted') await send(process, bodyOf({ traceId: 'held', payload: { hold: true } }));
      await process.line('begun', 'held');
      await process.kill();
    }
    const connection = new Database(options.database);
    expect(connection.prepare('select count(*) from runs where attempts = 1').pluck().get()).toBe(1);
    connection.exec("update bodies set body = x'ff00'");
    connection.close();

    const { receiver, logs } = made({ database: options.database });
    receiver.on('*', { name: 'gated' }, () => {});
    await receiver.start();
    await expect.poll(async () => (await receiver.counts()).events.done).toBe(1);
    expect((await deadLettersOf(receiver)).map(({ handler }) => handler)).toEqual(['gated']);
    expect(logs.of('event_unreadable')).toMatchObject([{ handler: 'gated' }]);
  },
);

/**
 * The attack by which an authentic body ended a receiver again and again: `"n":9234567890123456,"x":[{},{},…]` for several
 * handlers. `POISON_VALUES=1700000 POISON_HEAP=400` makes it as large as it was.
 */
const attack = {
  values: Number(process.env['POISON_VALUES'] ?? 100_000),
  heap: Number(process.env['POISON_HEAP'] ?? 48),
};

test(
  'a body that takes all memory ends a bounded number of processes, and what others commit is there exactly once',
  { tags: 'long' },
  async () => {
    const options = optionsFor('hoarding');
    const x = Array.from({ length: attack.values }, () => ({}));
    const marked = bodyOf({ traceId: 'poison', payload: { hoard: true, n: 0, x } });
    const body = marked.replace('"n":0', '"n":9234567890123456');
    await recorded(options, [body]);

    const ordinary: string[] = [];
    const deaths = await deathsOf({ ...options, heap: attack.heap }, ordinary);
    // The first, and either one for the attempt of each handler, or those in which the event was read.
    expect(deaths).toBeLessThanOrEqual(1 + readingDeaths + 2);
    expect(deaths).toBeGreaterThan(1);
    expect((await deadLettersIn(options)).map(({ traceId }) => traceId)).toContain('poison');
    const connection = new Database(options.database, { readonly: true });
    const effects = connection.prepare('select trace_id || handler from effects order by 1').pluck().all();
    connection.close();
    const expected = ordinary.flatMap((traceId) => ['one', 'two'].map((name) => traceId + name));
    expect(effects).toEqual(expected.toSorted());
  },
);
