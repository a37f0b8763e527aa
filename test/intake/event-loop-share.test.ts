/** How deliveries share the event loop with the app. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EventLoopShare, mostWaiting } from '../../src/intake/event-loop-share.ts';
import { ManualClock } from '../support/clock.ts';

/** A receiver that takes 0.5 ms to verify and read a delivery. */
class Receiver {
  readonly clock = new ManualClock();
  readonly #share = new EventLoopShare(this.clock);
  /** The deliveries that were taken in each turn of the event loop. */
  readonly turns: number[][] = [[]];
  /** What else happens when a delivery is taken. */
  onTaken: (delivery: number) => void = () => {};
  #came = 0;

  /** Deliveries come in. Those that may be taken in this turn are. */
  comes(count: number): void {
    for (let place = 0; place < count; place += 1) {
      this.#came += 1;
      void this.#take(this.#came);
    }
  }

  /** The turn ends, and another begins. */
  async nextTurn(): Promise<void> {
    this.turns.push([]);
    await nextTurn();
  }

  async #take(delivery: number): Promise<void> {
    const place = this.#share.place();
    if (place) await place;
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

test('only so many wait, and all others are taken in the same turn', async () => {
  const receiver = new Receiver();
  receiver.comes(2 + mostWaiting + 3);
  await receiver.nextTurn();
  await receiver.nextTurn();
  expect(receiver.turns).toEqual([
    [1, 2],
    [3, 4, 5],
    [6, 7],
  ]);
});

test('each turn has a share of its own', async () => {
  const receiver = new Receiver();
  receiver.comes(2);
  await receiver.nextTurn();
  receiver.comes(2);
  expect(receiver.turns).toEqual([
    [1, 2],
    [3, 4],
  ]);
});
