import type { Receiver } from './public.ts';

/** A run that was given up. */
export interface DeadLetter {
  readonly traceId: string;
  readonly callId: string | undefined;
  readonly handler: string;
  readonly attempts: number;
  readonly reason: string | undefined;
}

/** A receiver's dead letters, those of the latest event first. */
export async function deadLettersOf(receiver: Receiver): Promise<readonly DeadLetter[]> {
  const { events } = await receiver.events.list({ state: 'dead' });
  return events.flatMap(({ traceId, callId, runs }) =>
    runs.filter((run) => run.state === 'dead').map((run) => ({ traceId, callId, ...run })),
  );
}
