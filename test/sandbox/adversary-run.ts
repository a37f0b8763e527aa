import { expect } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import type { Attempt, GivenUpDelivery, PlayedCall, Sandbox } from '../../src/sandbox/index.ts';
import { concurrently } from '../support/concurrently.ts';
import type { Receiver } from '../support/public.ts';
import { made } from '../support/receiver.ts';
import type { ReceiverBehindFront } from './receiver-process-front.ts';
import { recording } from './receiver-process-handlers.ts';

/** The receiver is killed after `after` calls, and started again when `lost` further deliveries are lost. */
export interface Outage {
  readonly after: number;
  readonly lost: number;
}

/** How many calls, how many of them at once, and how many seconds of the platform's the longest takes. */
export interface Load {
  readonly calls: number;
  readonly atOnce: number;
  readonly maxSeconds: number;
}

/** The front's answer while there is no receiver. */
const nobodyThere = 502;
const forgeries = new Set<string | undefined>(['tampered', 'wrong_secret', 'rubbish']);
/** A clock two hours ahead: the joins wait for an hour, so all of them are due. */
const later = { ...systemClock, now: () => Date.now() + 7_200_000 };

/** Plays calls while the receiver is killed and started again. Resolves when the last delivery is settled. */
export async function playThroughOutages(
  sandbox: Sandbox,
  receiver: ReceiverBehindFront,
  { calls, atOnce, maxSeconds }: Load,
  outages: readonly Outage[],
): Promise<readonly PlayedCall[]> {
  const played: PlayedCall[] = [];
  const marks = outages.map((outage) => ({ ...outage, reached: Promise.withResolvers<void>() }));
  const plans = Array.from({ length: calls }, (_, index) => ({
    duration: 1_000 * (1 + (index % maxSeconds)),
  }));
  await receiver.start();
  const playing = concurrently(plans, atOnce, async (plan) => {
    played.push(await sandbox.calls.play(plan));
    for (const { after, reached } of marks) if (played.length >= after) reached.resolve();
  });
  for (const { reached, lost } of marks) {
    await reached.promise;
    const before = lostDeliveries(sandbox).length;
    await receiver.kill();
    await expect
      .poll(() => lostDeliveries(sandbox).length - before, { interval: 200 })
      .toBeGreaterThanOrEqual(lost);
    await receiver.start();
  }
  await playing;
  expect(await receiver.stop()).toBe(0);
  return played;
}

/** A receiver in this process, on the same inbox, that has handled every event and ended every join. */
export async function whenAllIsHandled(database: string, secret: string): Promise<Receiver> {
  const { receiver } = made({ database, secrets: secret, clock: later });
  recording(receiver);
  await receiver.start();
  const left = async () => {
    const { events, runs } = await receiver.counts();
    return { new: events.new, open: events.open, ...runs };
  };
  await expect
    .poll(left, { interval: 500 })
    .toEqual({ new: 0, open: 0, due: 0, running: 0, blocked: 0, dead: 0 });
  return receiver;
}

/** The attempts of an event that were not forged. */
function genuineAttempts(sandbox: Sandbox, traceId: string): readonly Attempt[] {
  return sandbox.attempts.list({ traceId }).filter(({ disturbance }) => !forgeries.has(disturbance));
}

/**
 * The deliveries that were given up and of which no attempt met a receiver: nobody can have them. The receiver may have
 * some of the other given-up deliveries: if the connection broke, perhaps only the answer was lost.
 */
export function lostDeliveries(sandbox: Sandbox): readonly GivenUpDelivery[] {
  return sandbox.deliveries
    .givenUp()
    .filter(({ traceId }) => genuineAttempts(sandbox, traceId).every(({ status }) => status === nobodyThere));
}

/** A delivery that was given up, and how its attempts ended, in words. */
export function inWords(sandbox: Sandbox, { callId, eventName, traceId }: GivenUpDelivery): string {
  const ends = genuineAttempts(sandbox, traceId).map(({ status, failure }) => status ?? failure);
  return `call ${callId}, ${eventName}, trace id ${traceId}: ${ends.join(', ')}`;
}

/** The items that are in one list more often than in the other; short even if the lists are long. */
export function difference(found: readonly string[], expected: readonly string[]) {
  const counts = new Map<string, number>();
  for (const item of found) counts.set(item, (counts.get(item) ?? 0) + 1);
  for (const item of expected) counts.set(item, (counts.get(item) ?? 0) - 1);
  const times = (sign: 1 | -1) =>
    [...counts].flatMap(([item, count]) => Array.from({ length: Math.max(0, sign * count) }, () => item));
  return { tooMany: times(1), tooFew: times(-1) };
}
