/** How a day passes: at once where nothing happens, and as fast as it really does while deliveries are going on. */
import { setImmediate as turn, setTimeout as realPause } from 'node:timers/promises';
import type { Receiver } from '../../src/index.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import type { ManualClock } from '../../src/testing/index.ts';
import type { followDeliveries } from './deliveries.ts';

export const minute = 60_000;

/** What happens, and when, in milliseconds since 1970. */
export interface Plan {
  readonly begin: number;
  /** When each call begins, in order. */
  readonly calls: readonly number[];
  /** When the CRM is down. */
  readonly outage: { readonly from: number; readonly to: number };
}

/** What lets time pass. */
export interface PassingTime {
  /** Lets time pass until then, with all that happens meanwhile. */
  readonly passUntil: (time: number) => Promise<void>;
  /** Lets time pass as fast as it really does, until something has come. */
  readonly passUntilDone: <T>(coming: Promise<T>) => Promise<T>;
}

interface Passing extends Omit<Plan, 'begin'> {
  readonly clock: ManualClock;
  readonly sandbox: Sandbox;
  readonly receiver: Receiver;
  readonly handlers: { readonly areRunning: () => boolean };
  readonly deliveries: ReturnType<typeof followDeliveries>;
}

export function passingTime(passing: Passing): PassingTime {
  const { clock, calls, outage, sandbox, deliveries } = passing;
  const left = [...calls];
  /** Moves time on to what comes next, at most by so much. */
  const step = async (most: number): Promise<void> => {
    const next = Math.min(clock.now() + most, left[0] ?? Infinity, deliveries.next());
    clock.advance(Math.max(0, next - clock.now()));
    for (; (left[0] ?? Infinity) <= clock.now(); left.shift()) deliveries.expect(sandbox.calls.begin());
    await settle(passing);
  };
  return {
    passUntil: async (time) => {
      while (clock.now() < time) {
        // Retries take real time too, between two deliveries.
        const isRetried = clock.now() >= outage.from && clock.now() < outage.to + 15 * minute;
        if (isRetried) await realPause(1);
        await step(Math.min(time - clock.now(), isRetried ? 2_000 : minute));
      }
    },
    passUntilDone: async (coming) => {
      const state = { isDone: false };
      const end = () => (state.isDone = true);
      coming.then(end, end);
      while (!state.isDone) {
        const from = performance.now();
        await realPause(20);
        await step(performance.now() - from);
      }
      return coming;
    },
  };
}

/** Lets what goes on come to an end: deliveries take as long as they really do, handlers as long as they say. */
async function settle({ clock, deliveries, handlers, receiver }: Passing): Promise<void> {
  for (let isQuiet = false; !isQuiet;) {
    const from = performance.now();
    await turn();
    if (deliveries.areGoingOn()) clock.advance(performance.now() - from);
    else if (handlers.areRunning()) clock.advance(10);
    else isQuiet = await isIdle(receiver);
  }
}

/** Whether the receiver holds nothing that it works on. */
async function isIdle(receiver: Receiver): Promise<boolean> {
  await realPause(1);
  const { claims, runs } = await receiver.counts();
  return claims.events === 0 && runs.running === 0;
}
