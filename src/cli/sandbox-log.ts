import type { Logger } from 'pino';
import type { Attempt } from '../sandbox/model.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { atEveryLevel } from './log.ts';

/**
 * The line that people and scripts wait for, whatever the log's level: a database tells its key once, when it is new, and
 * keeps only a digest. The key opens nothing but this sandbox.
 *
 * @param adversary The seed that has the adversary do the same again
 */
export function logListening(
  logger: Logger,
  { url, apiKey }: Pick<Sandbox, 'url' | 'apiKey'>,
  adversary: string | undefined,
): void {
  const always = atEveryLevel(logger);
  always.info({ event: 'listening', url, apiKey, adversary }, 'listening');
  always.flush();
}

/** Writes a line for every attempt. */
export function logAttempts(logger: Logger, { attempts }: Pick<Sandbox, 'attempts'>): void {
  attempts.watch((attempt) => {
    const { eventName, callId, traceId, subscriptionId, number, status, failure, disturbance } = attempt;
    logger[levelOf(attempt)](
      {
        event: 'delivery_attempted',
        eventName,
        callId,
        traceId,
        subscriptionId,
        attempt: number,
        status,
        failure,
        disturbance,
        latencyMs: Math.round(attempt.latencyMs),
      },
      'delivery attempted',
    );
  });
}

/** That what the adversary sends is refused, or not answered, is as it should be. */
function levelOf({ isDelivered, disturbance }: Attempt): 'info' | 'warn' {
  return isDelivered || disturbance !== undefined ? 'info' : 'warn';
}
