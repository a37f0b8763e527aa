/** How deliveries and runs share the event loop with the app. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EventLoopShare } from '../../src/kit/event-loop-share.ts';
import { ManualClock } from '../support/clock.ts';

/** A receiver that takes 0.5 ms to verify and read a delivery, and a millisecond of each turn. */
class Receiver {
  readonly clock = new ManualClock();
  readonly #share = new EventLoopShare(this.clock, { ofTurn: 1, maxWait: 30 });
  /** The deliveries that were taken in each turn of the event loop. */
  readonly turns: number[][] = [[]];
  /** What else happens when a delivery is taken. */
  onTaken: (delivery: number) => void = () => {};
  #came = 0;

  /** Deliveries come in. Those that may be taken in this turn are. */
  comes(count: number): void {
    for (let index = 0; index < count; index += 1) {
      this.#came += 1;
      void this.#take(this.#came);
    }
  }

  /** The turn ends, after the app has kept it for some milliseconds, and another begins. */
  async nextTurn(keptByApp = 0): Promise<void> {
    this.clock.advance(keptByApp);
    this.turns.push([]);
    await nextTurn();
  }

  async #take(delivery: number): Promise<void> {
    const wait = this.#share.whenFree();
    if (wait) await wait;
    this.turns.at(-1)?.push(delivery);
    this.onTaken(delivery);
    this.clock.advance(0.5);
  }
}

test('deliveries beyond a millisecond of a turn wait for later turns, in order', async () => {
  const receiver = new Receiver();
  receiver.comes(7);
  for (let turn = 0; turn < 4; turn += 1) await receiver.nextTurn();
  expect(receiver.turns).toEqual([[1, 2], [3, 4], [5, 6], [7], []]);
});

test('a delivery that comes later waits behind those that wait', async () => {
  const receiver = new Receiver();
  receiver.comes(5);
  await receiver.nextTurn();
  receiver.comes(1);
  await receiver.nextTurn();
  await receiver.nextTurn();
  expect(receiver.turns).toEqual([[1, 2], [3, 4], [5, 6], []]);
});

test('a delivery that comes while those that wait are taken waits behind them', async () => {
  const receiver = new Receiver();
  receiver.onTaken = (delivery) => {
    if (delivery === 3) receiver.comes(1);
  };
  receiver.comes(5);
  for (let turn = 0; turn < 3; turn += 1) await receiver.nextTurn();
  expect(receiver.turns).toEqual([[1, 2], [3, 4], [5, 6], []]);
});

test('a delivery that comes when the last that waits has begun, but is not taken yet, is taken after it', async () => {
  const receiver = new Receiver();
  receiver.onTaken = (delivery) => {
    if (delivery === 3) queueMicrotask(() => receiver.comes(1));
  };
  receiver.comes(4);
  for (let turn = 0; turn < 2; turn += 1) await receiver.nextTurn();
  expect(receiver.turns).toEqual([[1, 2], [3, 4], [5]]);
});

test('a delivery waits for thirty milliseconds, and is then taken however much of a turn is used up', async () => {
  const receiver = new Receiver();
  receiver.comes(6);
  await receiver.nextTurn(28);
  receiver.comes(3);
  await receiver.nextTurn(10);
  await receiver.nextTurn();
  expect(receiver.turns).toEqual([
    [1, 2],
    [3, 4],
    [5, 6],
    [7, 8],
  ]);
  const slow = new Receiver();
  slow.comes(6);
  await slow.nextTurn(30);
  expect(slow.turns).toEqual([
    [1, 2],
    [3, 4, 5, 6],
  ]);
});

test('each turn of the event loop has a share of its own', async () => {
  const receiver = new Receiver();
  receiver.comes(2);
  await receiver.nextTurn();
  receiver.comes(2);
  expect(receiver.turns).toEqual([
    [1, 2],
    [3, 4],
  ]);
});

/** Lets what waits in two lines go, each of it for some milliseconds, and returns the lines in the order of that. */
async function orderOf(lines: Readonly<Record<string, { readonly count: number; readonly takes: number }>>) {
  const clock = new ManualClock();
  const share = new EventLoopShare(clock, { ofTurn: 10 });
  const order: string[] = [];
  const work = Object.entries(lines).flatMap(([name, { count, takes }]) =>
    Array.from({ length: count }, async () => {
      const wait = share.whenFree(name);
      if (wait) await wait;
      order.push(name);
      clock.advance(takes);
    }),
  );
  await Promise.all(work);
  return order.join(' ');
}

test('a queue with little work goes before one with much, whichever came first', async () => {
  const order = await orderOf({ heavy: { count: 4, takes: 20 }, light: { count: 5, takes: 1 } });
  expect(order).toBe('heavy light light light light light heavy heavy heavy');
});

test('queues with equal work alternate', async () => {
  const order = await orderOf({ first: { count: 4, takes: 20 }, second: { count: 3, takes: 20 } });
  expect(order).toBe('first second first second first second first');
});
