import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { type Receiver, createReceiver, internalsOf } from '../../receiver/receiver.ts';

/** Whatever a receiver with other limits has taken can be shown. */
const unlimited = Number.MAX_SAFE_INTEGER;

/**
 * Opens an inbox for what a person asks and decides without handlers and secrets, by a receiver that takes no deliveries, claims
 * nothing and removes nothing.
 */
export async function withReceiver<T>(
  database: string,
  work: (receiver: Receiver) => Promise<T>,
): Promise<T> {
  const receiver = createReceiver({
    database,
    // A receiver needs something to know deliveries by, although none comes here.
    headers: { 'x-ringback-inbox': randomUUID() },
    limits: { values: unlimited, fields: unlimited, depth: unlimited },
    logger: pino({ level: 'silent' }),
  });
  await internalsOf(receiver).lifecycle.openInbox();
  try {
    return await work(receiver);
  } finally {
    await receiver.stop();
  }
}
