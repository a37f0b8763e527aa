import type { Logger } from 'pino';
import type { Attempt } from '../sandbox/model.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { atEveryLevel } from './log.ts';

/**
 * Logs the line that people and scripts wait for, at every log level. The key is known only while a database is new,
 * because the database keeps only its digest. It gives access to nothing but this sandbox.
 *
 * @param adversary The seed with which the adversary does the same again
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

/** A delivery of the adversary should be refused, or not answered: that is no warning. */
function levelOf({ isDelivered, disturbance }: Attempt): 'info' | 'warn' {
  return isDelivered || disturbance !== undefined ? 'info' : 'warn';
}
