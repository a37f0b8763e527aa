import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ManualClock } from '../../support/clock.ts';
import { Script } from '../../support/process.ts';
import { temporaryDatabase } from '../../support/temporary.ts';
import { ofCall, strict } from '../conformance/one-call.ts';
import {
  claimDue,
  claimedRun,
  dead,
  done,
  dueAt,
  endOf,
  eventOf,
  firstStep,
  only,
  recordEnded,
} from '../parts.ts';

const day = 86_400_000;
const present = 20_000 * day;

async function opened(file: string, clock: ManualClock): Promise<SqliteStore> {
  const store = new SqliteStore(file, clock);
  await store.open();
  onTestFinished(() => store.close());
  return store;
}

test('a clock that starts too early continues from the time that the last process recorded', async () => {
  const file = temporaryDatabase();
  const clock = new ManualClock(present);
  const first = await opened(file, clock);
  clock.advance(day);
  await recordEnded(first, eventOf('a'), dueAt(clock.now() + 10_000), { decidedAt: clock.now() });
  await first.close();
  const behind = new ManualClock(5_000);
  const second = await opened(file, behind);
  expect(await second.nextDue('handler')).toBe(behind.now() + 10_000);
});

test('so does one that starts too early after a crash', async () => {
  const file = temporaryDatabase();
  const clock = new ManualClock();
  const first = await opened(file, clock);
  await recordEnded(first, eventOf('a'), dueAt(clock.now() + day), { decidedAt: clock.now() });
  await first.close();
  const killed = new Script(fileURLToPath(new URL('./claiming-process.ts', import.meta.url)), file);
  await killed.line('claimed');
  await killed.kill();
  const behind = new ManualClock(5_000);
  expect(await (await opened(file, behind)).nextDue('handler')).toBeLessThanOrEqual(behind.now() + day);
});

test('a clock that begins behind changes nothing for those who have the file open', async () => {
  const file = temporaryDatabase();
  const clock = new ManualClock(present);
  const first = await opened(file, clock);
  await recordEnded(first, eventOf('a'), dueAt(clock.now() + 10_000), { decidedAt: clock.now() });
  await opened(file, new ManualClock(5_000));
  await first.keepAlive();
  expect(await first.nextDue('handler')).toBe(clock.now() + 10_000);
});

test('a retry that is claimed while the clock is set back is due when it is given back', async () => {
  const file = temporaryDatabase();
  const clock = new ManualClock(present);
  const first = await opened(file, clock);
  await recordEnded(first, eventOf('a'), dueAt(present - 50), { decidedAt: present });
  only(await claimDue(first, undefined, { now: present }));
  clock.setWallClock(-day);
  await first.keepAlive();
  await first.close();
  const second = await opened(file, clock);
  expect(await claimDue(second, undefined, { now: clock.now() })).toMatchObject([{ traceId: 'a' }]);
});

test('a retry that is blocked while the clock is set back keeps its wait', async () => {
  const clock = new ManualClock(present);
  const store = await opened(temporaryDatabase(), clock);
  const replayed = await claimedRun(store, ofCall('a'), strict);
  await store.settle(replayed, endOf(dead, { decidedAt: present }));
  const run = await claimedRun(store, ofCall('b'), strict);
  const { sequence, callId, handler } = replayed;
  const candidate = { sequence, callId, handler, order: 'strict', isJoin: false } as const;
  await store.events.requeue({ candidates: [candidate], onlyDead: true, step: await firstStep(store) });
  await store.settle(run, endOf(dueAt(present + 10_000), { decidedAt: present }));
  expect((await store.counts()).runs).toMatchObject({ due: 1, blocked: 1 });
  clock.setWallClock(-day);
  await store.keepAlive();
  const before = only(await claimDue(store, strict, { now: clock.now() }));
  await store.settle(before, endOf(done, { decidedAt: clock.now() }));
  expect(await store.nextDue('handler')).toBe(clock.now() + 10_000);
});
