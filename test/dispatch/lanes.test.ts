/** The bounds of a handler's lanes: what has ended, or was taken out, leaves its room to others. */
import { describe, expect, test } from 'vitest';
import type { HandlerLanes } from '../../src/dispatch/lanes.ts';
import { Registry } from '../../src/dispatch/registry.ts';
import type { Run } from '../../src/dispatch/run.ts';
import type { Order } from '../support/public.ts';
import { only } from '../store/parts.ts';

const retry = { attempts: 1, base: 1, factor: 1, cap: 1 };

/** The lanes of the only handler of a receiver. */
function lanesOf(order: Order): HandlerLanes {
  const registry = new Registry({ timeout: 1_000, retry, concurrency: 5_000, strictNames: false });
  registry.add(['*'], { name: 'handler', order }, () => {});
  return only(registry.lanes);
}

/** A run of a call whose event has a body of this size. `crashCount`: more than 0 if it may be poison. */
function runIn({ handler }: HandlerLanes, callId: string, { bytes = 1, crashCount = 0 } = {}): Run {
  const claimed = { callId, crashCount, body: { byteLength: bytes } } as Run['claimed'];
  return { handler, claimed, read: undefined };
}

/** What is left in the lanes for others. */
const roomIn = ({ room, freeBytes, isCrowded, calls, active }: HandlerLanes) => ({
  room,
  freeBytes,
  isCrowded,
  calls,
  active,
});

/** So many that they leave no room, if each leaves some of its own occupied. */
const count = 1_100;

/** Adds many runs of one call, and one of each of many other calls: every other one may be poison. */
function fill(lanes: HandlerLanes): void {
  for (let index = 0; index < count; index += 1) {
    lanes.add(runIn(lanes, 'busy'), { isStored: true });
    lanes.add(runIn(lanes, `call-${index}`, { crashCount: index % 2 }), { isStored: true });
  }
}

describe.each(['none', 'call', 'strict'] as const)('with order %s, room is left by runs', (order) => {
  test('that have ended', () => {
    const lanes = lanesOf(order);
    const before = roomIn(lanes);
    fill(lanes);
    let ended = 0;
    for (let run = lanes.next(true); run; run = lanes.next(true)) {
      lanes.freeSlot(run);
      lanes.finish(run);
      ended += 1;
    }
    expect(ended).toBe(2 * count);
    expect(roomIn(lanes)).toEqual(before);
  });

  test('that are taken out before they have begun, as their handler is paused', () => {
    const lanes = lanesOf(order);
    const before = roomIn(lanes);
    fill(lanes);
    const active = lanes.next(true);
    const taken = lanes.takeUnbegun();
    expect(taken).toHaveLength(2 * count - 1);
    for (const run of taken) lanes.uncountBytes(run);
    if (active) {
      lanes.freeSlot(active);
      lanes.finish(active);
    }
    expect(roomIn(lanes)).toEqual(before);
  });
});

test('the runs behind one that has failed leave their room as they are taken out', () => {
  const lanes = lanesOf('strict');
  const before = roomIn(lanes);
  for (let index = 0; index < count; index += 1) lanes.add(runIn(lanes, 'busy'), { isStored: true });
  const failed = lanes.next(true);
  if (!failed) throw new Error('nothing is ready');
  lanes.freeSlot(failed);
  for (const run of lanes.takeFollowers(failed)) lanes.uncountBytes(run);
  lanes.finish(failed);
  expect(roomIn(lanes)).toEqual(before);
});
