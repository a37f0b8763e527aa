/** Which events are taken while the disk is slow, tested below the receiver: no disk here is that slow. */
import { expect, test } from 'vitest';
import type { WriteItem } from '../../../src/store/sqlite/writer/write-message.ts';
import { WriteQueue } from '../../../src/store/sqlite/writer/write-queue.ts';
import { ManualClock, turn } from '../../support/clock.ts';

/** What one commit takes at the most. */
const group = 1_024;

/** A delivery of so many bytes. */
const delivery = (bytes: number): WriteItem => ({
  part: 'pinnedScheme',
  method: 'unpin',
  args: [],
  isAlone: false,
  bytes,
});

/** A queue whose commits end when the test says so, and what became of its events. */
function slowQueue() {
  let sent = 0;
  const send = (items: readonly WriteItem[]) => void (sent += items.length);
  const queue = new WriteQueue({ clock: new ManualClock(), send, receiveAll: () => {} });
  const outcome = { written: 0, refused: 0 };
  const record = (count: number, bytes = 400) => {
    for (let index = 0; index < count; index += 1) {
      queue.add({
        item: delivery(bytes),
        isAwaited: true,
        bytes,
        onWritten: () => void (outcome.written += 1),
        onFailed: () => void (outcome.refused += 1),
      });
    }
  };
  /** All that has been sent is committed, in so many milliseconds. */
  const commit = (took: number | undefined) => {
    queue.written({ results: Array.from({ length: sent }, () => 1), failures: [], took });
    sent = 0;
  };
  return { record, commit, outcome };
}

/** Has some commits take so long, one event each. */
async function slowly({ record, commit }: ReturnType<typeof slowQueue>, took: number, commits = 4) {
  for (let count = 0; count < commits; count += 1) {
    record(1);
    await turn();
    commit(took);
  }
}

const speeds = [
  { took: 1, groups: 5 },
  { took: 300, groups: 2 },
  { took: 600, groups: 1 },
  { took: 700, groups: 1 },
  { took: 701, groups: 5 },
];

test.each(speeds)('with commits of $took ms, $groups of 5 groups wait', async ({ took, groups }) => {
  const queue = slowQueue();
  await slowly(queue, took);
  queue.record(5 * group);
  expect(queue.outcome).toEqual({ written: 4, refused: (5 - groups) * group });
  await turn();
  queue.commit(took);
  expect(queue.outcome.written).toBe(4 + groups * group);
});

test('after slow commits, as many are taken as go into the next, and all again after a fast one', async () => {
  const queue = slowQueue();
  await slowly(queue, 600);
  queue.record(group + 1);
  expect(queue.outcome.refused).toBe(1);
  await turn();
  queue.commit(1);
  queue.record(5 * group);
  expect(queue.outcome.refused).toBe(1);
});

test('a commit that changes nothing is fast on any disk, and says nothing', async () => {
  const queue = slowQueue();
  await slowly(queue, 600);
  queue.record(1);
  await turn();
  queue.commit(undefined);
  queue.record(5 * group);
  expect(queue.outcome.refused).toBe(4 * group);
});

test('large bodies fill a group sooner', async () => {
  const queue = slowQueue();
  await slowly(queue, 600);
  // A group takes 4 MB.
  queue.record(100, 100 * 1024);
  expect(queue.outcome.refused).toBe(59);
});

test('a few slow commits refuse nothing', async () => {
  const queue = slowQueue();
  await slowly(queue, 600, 3);
  queue.record(5 * group);
  expect(queue.outcome.refused).toBe(0);
});
