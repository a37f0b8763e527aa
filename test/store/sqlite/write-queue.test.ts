/** Which events are taken while the disk is slow, tested below the receiver: no disk here is that slow. */
import { expect, test } from 'vitest';
import type { WriteMessage } from '../../../src/store/sqlite/writer/write-message.ts';
import { WriteQueue } from '../../../src/store/sqlite/writer/write-queue.ts';
import { eventRow } from '../../../src/store/sqlite/work/record.ts';
import { ManualClock, turn } from '../../support/clock.ts';
import { eventOf } from '../parts.ts';

/** What one commit takes at the most. */
const group = 1_024;

/** A queue whose commits end when the test says so. */
class SlowQueue extends WriteQueue {
  #sent = 0;

  constructor() {
    super(new ManualClock());
  }

  /** All that has been sent is committed, in so many milliseconds. */
  commit(took: number | undefined): void {
    const results = Array.from({ length: this.#sent }, () => 1);
    this.written({ made: { events: this.#sent, ends: 0, operations: 0 }, results, failures: [], took });
    this.#sent = 0;
  }

  protected send({ count }: WriteMessage): void {
    this.#sent += count;
  }

  protected receiveAll(): void {}

  protected onIdle(): void {}
}

/** A queue whose commits end when the test says so, and what became of its events. */
function slowQueue() {
  const queue = new SlowQueue();
  const outcome = { written: 0, refused: 0 };
  const item = eventRow(eventOf('trace'), true);
  /** Of so many bytes. */
  const record = (count: number, bytes = 400) => {
    for (let index = 0; index < count; index += 1) {
      queue.addEvent({
        item,
        bytes,
        onWritten: () => void (outcome.written += 1),
        onFailed: () => void (outcome.refused += 1),
      });
    }
  };
  return { record, commit: (took: number | undefined) => queue.commit(took), outcome };
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

test('a body of any size is taken while no other waits', async () => {
  const queue = slowQueue();
  const bytes = 49 * 1024 * 1024;
  queue.record(1, bytes);
  queue.record(1, bytes);
  expect(queue.outcome.refused).toBe(1);
  await turn();
  queue.commit(1);
  queue.record(1, bytes);
  await turn();
  queue.commit(1);
  expect(queue.outcome).toEqual({ written: 2, refused: 1 });
});

test('a few slow commits refuse nothing', async () => {
  const queue = slowQueue();
  await slowly(queue, 600, 3);
  queue.record(5 * group);
  expect(queue.outcome.refused).toBe(0);
});
