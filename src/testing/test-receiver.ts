import { type Logger, pino } from 'pino';
import { jsonOfBufferFix } from '../errors/refusals.ts';
import { defined } from '../kit/values.ts';
import type { UserDatabase } from '../dispatch/handler.ts';
import type { ReceiverOptions } from '../receiver/options.ts';
import { type Receiver, createReceiver } from '../receiver/receiver.ts';
import { testSecret } from './delivery.ts';

/**
 * The message for a mistake that would let a test pass wrongly, or fail it without a reason: a probably misspelled
 * event name, an event that no handler gets because its payload lacks something, a receiver that was never started, or
 * a body that was sent as the JSON of a Buffer. Undefined for all other log lines.
 */
function mistakeIn(line: Record<string, unknown>) {
  const { event, reason, fix, msg, handler, eventName, meant, traceId, issues } = line;
  if (event === 'event_incomplete') return `${String(msg)} ${JSON.stringify({ traceId, eventName, issues })}`;
  if (event === 'event_name_unknown')
    return `${String(msg)} ${JSON.stringify({ handler, eventName, meant })}`;
  const isMistake = reason === 'not_open' || fix === jsonOfBufferFix;
  return event === 'refusal_fix' && isMistake ? String(fix) : undefined;
}

/** A logger that prints only mistakes in a test's setup, on the console. */
function setUpLogger(): Logger {
  const write = (line: string): void => {
    const mistake = mistakeIn(JSON.parse(line) as Record<string, unknown>);
    // oxlint-disable-next-line no-console -- what runs tests shows each line with its test
    if (mistake !== undefined) console.warn(`ringback: ${mistake}`);
  };
  return pino({ level: 'warn' }, { write });
}

/**
 * A receiver for tests: its inbox is in memory, its secret is `testSecret`, and it accepts plain HTTP. It logs only
 * four mistakes in a test, on the console: a handler for a name that is close to a known one, an event that no handler
 * gets because its payload lacks something, a receiver that was never started, and a Buffer that supertest has turned
 * into JSON. Options of `createReceiver` replace these defaults. Register handlers, then `await start()`.
 *
 * @example
 * const receiver = testReceiver();
 * app(receiver);
 * await receiver.start();
 */
export function testReceiver<Transaction = UserDatabase>(
  options: ReceiverOptions<Transaction> = {},
): Receiver<Transaction> {
  return createReceiver<Transaction>({
    secrets: testSecret,
    database: ':memory:',
    https: { required: false },
    logger: setUpLogger(),
    ...defined(options),
  });
}
