import { pino } from 'pino';
import type { AppOptions } from '../../options.ts';
import { type Receiver, createReceiver } from '../../receiver.ts';
import type { Store } from '../../store/store.ts';
import { receiverOptions } from '../app-options.ts';
import type { Environment } from '../environment.ts';
import { asUsage } from '../failure.ts';

/** How long something is kept is for the service to say: what runs for a moment removes nothing. */
const keepAll = { done: '3650d', dead: '3650d', quarantine: '3650d', traceIds: '3650d' } as const;

/** A receiver for a moment, beside the one that serves: with its options, and a log that leaves stdout alone. */
export function receiverBeside(
  database: string | Store,
  environment: Environment,
  app: AppOptions = {},
): Receiver {
  return createReceiver({
    ...asUsage(() => receiverOptions({}, environment, app)),
    database,
    retention: keepAll,
    // Beside the result, which is for programs.
    logger: pino(
      { level: environment.RINGBACK_LOG_LEVEL ?? 'error' },
      pino.destination({ dest: 2, sync: true }),
    ),
  });
}
