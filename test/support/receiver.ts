import { expect, onTestFinished } from 'vitest';
import { ManualClock } from './clock.ts';
import { deliver, secret } from './deliveries.ts';
import { inboxOf } from './inbox.ts';
import { Logs } from './logs.ts';
import { clockWithoutWriteTimeout } from './clock-without-write-timeout.ts';
import { createReceiver, type Receiver, type ReceiverOptions } from './public.ts';

/** A receiver in this process, and its log. */
export interface Started {
  readonly receiver: Receiver;
  readonly logs: Logs;
}

/** Makes a receiver with its inbox and log in memory and no timeout of a write, unless the options say otherwise. */
export function made(options: ReceiverOptions = {}): Started {
  const logs = new Logs();
  const database = inboxOf(options.database ?? ':memory:');
  const defaults = { secrets: secret, clock: clockWithoutWriteTimeout, logger: logs.logger };
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
 * Repeats a delivery until it is answered 200, as its sender does: while the database is slow, it is answered 503. Not
 * needed without the timeout of a write, the default of `started`.
 */
export async function deliverUntilTaken(receiver: Pick<Receiver, 'fetch'>, body: string): Promise<void> {
  await expect.poll(async () => (await deliver(receiver, body)).status).toBe(200);
}
