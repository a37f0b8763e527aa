import { expect, onTestFinished } from 'vitest';
import { ManualClock } from './clock.ts';
import { deliver, secret } from './deliveries.ts';
import { inboxOf } from './inbox.ts';
import { Logs } from './logs.ts';
import { patientClock } from './patient-clock.ts';
import { createReceiver, type Receiver, type ReceiverOptions } from './public.ts';

/** A receiver in this process, and its log. */
export interface Started {
  readonly receiver: Receiver;
  readonly logs: Logs;
}

/** Makes a receiver whose inbox and log are in memory, and that is patient with the disk, unless the options say otherwise. */
export function made(options: ReceiverOptions = {}): Started {
  const logs = new Logs();
  const database = inboxOf(options.database ?? ':memory:');
  const defaults = { secrets: secret, clock: patientClock, logger: logs.logger };
  const receiver = createReceiver({ ...defaults, ...options, database });
  onTestFinished(() => stopped(receiver, options.clock));
  return { receiver, logs };
}

/** A handler for an event that never comes: without any handler, a receiver leaves events to other processes. */
const anotherHandler = (receiver: Receiver) => receiver.on('Another.Event', () => {});

/** Starts a receiver with the handlers that `register` gives it; it is stopped when the test ends. */
export async function started(
  options: ReceiverOptions = {},
  register: (receiver: Receiver) => unknown = anotherHandler,
): Promise<Started> {
  const parts = made(options);
  register(parts.receiver);
  await parts.receiver.start();
  return parts;
}

/** Stops a receiver at once. If its clock is a manual one, time is moved on until the receiver has stopped. */
export async function stopped(receiver: Receiver, clock: ReceiverOptions['clock']): Promise<void> {
  const stopping = receiver.stop({ drain: 0 });
  if (clock instanceof ManualClock) await clock.runUntil(stopping);
  await stopping;
}

/**
 * Delivers a body until it is taken, as its sender does: what a database that is slow for a moment has not recorded in time
 * is answered 503. Only for receivers that go by the machine's clock, or the test's own: those of `started` are patient.
 */
export async function deliverUntilTaken(receiver: Pick<Receiver, 'fetch'>, body: string): Promise<void> {
  await expect.poll(async () => (await deliver(receiver, body)).status).toBe(200);
}
