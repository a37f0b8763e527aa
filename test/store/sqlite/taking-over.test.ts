/** How soon a receiver takes over what dead processes held, and whom it takes for dead. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '../../support/clock.ts';
import { bodyOf, post } from '../../support/deliveries.ts';
import { type ProcessOptions, ReceiverProcess } from '../../support/process.ts';
import { started } from '../../support/receiver.ts';
import { temporaryFolder } from '../../support/temporary.ts';

function options(): ProcessOptions {
  const folder = temporaryFolder();
  return { database: join(folder, 'inbox.db'), file: join(folder, 'handled.txt'), handlers: 'gated' };
}

/** How often a process heartbeats, in milliseconds. */
const heartbeat = 2_000;

/** A process in the middle of a run. */
async function holding(given: ProcessOptions): Promise<ReceiverProcess> {
  const process = new ReceiverProcess(given);
  await post(await process.url(), bodyOf({ traceId: 'held', payload: { hold: true } }));
  await process.line('begun', 'held');
  return process;
}

/** A receiver in this process, whose time stands still, and what its handler was given. */
async function another({ database }: ProcessOptions) {
  const [clock, handled] = [new ManualClock(), [] as string[]];
  const { receiver, logs } = await started({ clock, database }, (r) =>
    r.on('*', { name: 'gated' }, ({ traceId }) => void handled.push(traceId)),
  );
  return { clock, receiver, logs, handled };
}

/** How much time passes until it takes something over, in milliseconds. */
async function takenOverAfter({ clock, logs }: Awaited<ReturnType<typeof another>>): Promise<number> {
  const before = clock.elapsed();
  for (await clock.timer(heartbeat); logs.of('claims_taken_over').length === 0; await clock.timer(heartbeat))
    clock.advance(heartbeat);
  return clock.elapsed() - before;
}

test('one that starts alone takes over at once what a killed process held', async () => {
  const given = options();
  await (await holding(given)).kill();
  const { logs, handled } = await another(given);
  await logs.until('run_done');
  expect([logs.of('claims_taken_over').length, handled]).toEqual([1, ['held']]);
});

test(
  'one that starts while a program reads the file takes over within ten seconds',
  { tags: 'long' },
  async () => {
    const given = options();
    await (await holding(given)).kill();
    const reader = new Database(given.database, { readonly: true });
    onTestFinished(() => void reader.close());
    reader.prepare('select count(*) from events').get();
    const one = await another(given);
    expect(one.handled).toEqual([]);
    expect(await takenOverAfter(one)).toBeLessThanOrEqual(10_000);
    await one.logs.until('run_done');
    expect(one.handled).toEqual(['held']);
  },
);

test('a suspended process keeps what it holds until it has missed its heartbeats, and loses it then', async () => {
  const given = options();
  const process = await holding(given);
  process.suspend();
  const one = await another(given);
  expect(one.handled).toEqual([]);
  expect(await takenOverAfter(one)).toBeGreaterThanOrEqual(6_000);
  await one.logs.until('run_done');
  process.resume();
  await process.release();
  await process.line('ended', 'held');
  // Known again, it works on.
  await post(await process.url(), bodyOf({ traceId: 'next' }));
  await expect
    .poll(() => [...process.said('ended').map(String), ...one.handled].toSorted())
    .toEqual(['held', 'held', 'next']);
  expect((await one.receiver.counts()).events).toEqual({ new: 0, open: 0, done: 2 });
});

test(
  'of several that start at once, one takes over what a killed process held',
  { tags: 'long' },
  async () => {
    const given = options();
    await (await holding(given)).kill();
    const all = [1, 2, 3].map(() => new ReceiverProcess(given));
    await Promise.all(all.map((one) => one.url()));
    const said = () => all.flatMap((one) => one.said('begun'));
    await expect.poll(said).toEqual(['held']);
    await Promise.all(all.map((one) => one.release()));
    await expect.poll(async () => (await all[0]?.counts())?.events.done).toBe(1);
    expect(said()).toEqual(['held']);
  },
);
