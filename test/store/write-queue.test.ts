/** Which events are taken while the disk is slow, tested below the receiver: no disk here is that slow. */
import { expect, test } from 'vitest';
import type { WriteItem } from '../../src/store/sqlite/commit-message.ts';
import { WriteQueue } from '../../src/store/sqlite/write-queue.ts';
import { ManualClock, turn } from '../support/clock.ts';

/** What one commit takes at the most. */
const group = 1_024;

/** A queue whose commits end when the test says so, and what became of its events. */
function slowQueue() {
  let sent = 0;
  const send = (items: readonly WriteItem[]) => void (sent += items.length);
  const queue = new WriteQueue({ clock: new ManualClock(), send, hearAll: () => {} });
  const outcome = { written: 0, refused: 0 };
  const record = (count: number) => {
    for (let place = 0; place < count; place += 1) {
      queue.record(
        1,
        400,
        () => void (outcome.written += 1),
        () => void (outcome.refused += 1),
      );
    }
  };
  /** All that has been sent is committed, in so many milliseconds. */
  const commit = (took: number) => {
    queue.hearWritten({ results: Array.from({ length: sent }, () => 1), failures: [], took });
    sent = 0;
  };
  return { record, commit, outcome };
}

test.each([
  { took: 1, groups: 5 },
  { took: 300, groups: 2 },
  { took: 600, groups: 1 },
  { took: 5_000, groups: 1 },
])(
  'a commit that takes $took ms has no more than $groups groups wait, so that they come in time',
  async ({ took, groups }) => {
    const { record, commit, outcome } = slowQueue();
    record(1);
    await turn();
    commit(took);
    record(5 * group);
    expect(outcome).toEqual({ written: 1, refused: (5 - groups) * group });
    await turn();
    commit(took);
    expect(outcome.written).toBe(1 + groups * group);
  },
);

test('after one slow commit, as many are taken as go into the next', async () => {
  const { record, commit, outcome } = slowQueue();
  record(1);
  await turn();
  commit(10_000);
  record(group + 1);
  expect(outcome.refused).toBe(1);
  await turn();
  commit(1);
  record(5 * group);
  expect(outcome.refused).toBe(1);
});
