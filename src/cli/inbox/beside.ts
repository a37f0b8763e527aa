import { pino } from 'pino';
import { type Receiver, createReceiver } from '../../receiver.ts';
import type { Store } from '../../store/store.ts';
import type { Environment } from '../environment.ts';
import { asUsage } from '../failure.ts';
import { secretsOf } from '../secrets.ts';

/** How long something is kept is for the service to say: what runs for a moment removes nothing. */
const keepAll = { done: '3650d', dead: '3650d', quarantine: '3650d', traceIds: '3650d' } as const;

/** A receiver for a moment, beside the one that serves: with its secrets, and a log that leaves stdout alone. */
export function receiverBeside(database: string | Store, environment: Environment): Receiver {
  return createReceiver({
    secrets: asUsage(() => secretsOf(environment)),
    database,
    retention: keepAll,
    // Beside the result, which is for programs.
    logger: pino(
      { level: environment.RINGBACK_LOG_LEVEL ?? 'error' },
      pino.destination({ dest: 2, sync: true }),
    ),
  });
}
