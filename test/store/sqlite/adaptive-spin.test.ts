/** When the commit thread looks for the next event instead of sleeping. */
import { expect, test } from 'vitest';
import { AdaptiveSpin } from '../../../src/store/sqlite/writer/adaptive-spin.ts';
import type { Waiting } from '../../../src/store/sqlite/writer/incoming.ts';
import { ManualClock } from '../../support/clock.ts';

const end: Waiting = { item: 1, number: undefined };
const event: Waiting = { ...end, number: 1 };

/** A commit thread to which events come one by one, on two cores unless said otherwise. */
class Thread {
  readonly #clock = new ManualClock();
  readonly #spin: AdaptiveSpin;

  constructor(cores = 2) {
    this.#spin = new AdaptiveSpin(this.#clock, cores);
  }

  /** An event comes after a pause, and is committed. */
  takes(pause: number, group = [event]): void {
    this.#clock.advance(pause);
    this.#spin.eventsCame();
    this.#spin.committed(group);
  }

  /** How often it looks when there is something at the `place`th look, 0.125 ms after the one before. */
  looks(place: number, isEvent = true): number {
    let count = 0;
    this.#spin.run(() => {
      count += 1;
      if (count === place) return true;
      this.#clock.advance(0.125);
      return false;
    });
    if (count === place && isEvent) this.takes(0);
    return count;
  }

  waits(pause: number): void {
    this.#clock.advance(pause);
  }

  settles(): void {
    this.#spin.committed([end]);
  }
}

test('it looks for the next event once one has come soon after the one before it', () => {
  const thread = new Thread();
  thread.takes(0);
  expect(thread.looks(3)).toBe(0);
  thread.takes(0.25);
  expect(thread.looks(3)).toBe(3);
  expect(thread.looks(3)).toBe(3);
});

test('it does not look where events are further apart', () => {
  const thread = new Thread();
  thread.takes(0);
  thread.takes(0.6);
  expect(thread.looks(3)).toBe(0);
});

test('it looks for a moment only, however many settlements are committed meanwhile', () => {
  const thread = new Thread();
  thread.takes(0);
  thread.takes(0.25);
  expect(thread.looks(3, false)).toBe(3);
  thread.settles();
  expect(thread.looks(9)).toBe(2);
  expect(thread.looks(9)).toBe(0);
});

/** A thread to which two events have come soon after each other, and whose spins then found so many. */
function spinning(found: number): Thread {
  const thread = new Thread();
  thread.takes(0);
  thread.takes(0.25);
  for (let count = 0; count < found; count += 1) expect(thread.looks(2)).toBe(2);
  return thread;
}

/** Looks in vain; then two events come soon after each other. */
function looksInVain(thread: Thread): void {
  expect(thread.looks(9)).toBe(4);
  thread.takes(0);
  thread.takes(0.25);
}

test('it rests when it has looked in vain, and then tries again', () => {
  const thread = spinning(0);
  looksInVain(thread);
  thread.takes(99.25);
  thread.takes(0.25);
  expect(thread.looks(9)).toBe(0);
  thread.takes(0.25);
  expect(thread.looks(9)).toBe(4);
});

test('it begins anew after a rest', () => {
  const thread = spinning(0);
  looksInVain(thread);
  thread.takes(100);
  thread.takes(0.25);
  for (let count = 0; count < 8; count += 1) expect(thread.looks(2)).toBe(2);
  looksInVain(thread);
  expect(thread.looks(2)).toBe(2);
});

test('it does not look any more when the moment is over', () => {
  const thread = spinning(0);
  thread.waits(0.5);
  expect(thread.looks(2)).toBe(0);
});

test('it rests when it has found fewer than eight events for each look in vain', () => {
  const thread = spinning(7);
  looksInVain(thread);
  expect(thread.looks(2)).toBe(0);
});

test('it does not rest when it has found eight', () => {
  const thread = spinning(8);
  looksInVain(thread);
  expect(thread.looks(2)).toBe(2);
});

test('however many events it has found, it rests after the third look in vain', () => {
  const thread = spinning(40);
  looksInVain(thread);
  looksInVain(thread);
  looksInVain(thread);
  expect(thread.looks(2)).toBe(0);
});

test('events that have come during the commit are not found by looking', () => {
  const thread = spinning(0);
  for (let count = 0; count < 20; count += 1) expect(thread.looks(1)).toBe(1);
  looksInVain(thread);
  expect(thread.looks(2)).toBe(0);
});

test('it does not look when the next event was late, though the one before was not', () => {
  const thread = spinning(0);
  thread.takes(0.625);
  expect(thread.looks(2)).toBe(0);
});

test('it looks after a commit with an event and the mark of the one before', () => {
  const thread = spinning(0);
  thread.takes(0.25, [end, event]);
  expect(thread.looks(2)).toBe(2);
});

test('it does not look where many events come at once', () => {
  const thread = new Thread();
  thread.takes(0);
  thread.takes(0.25, [event, event, end]);
  expect(thread.looks(3)).toBe(0);
});

test('it never looks on a single core, where the event could not come meanwhile', () => {
  const thread = new Thread(1);
  thread.takes(0);
  thread.takes(0.25);
  expect(thread.looks(3)).toBe(0);
});
