/** A receiver with an example of everything that an operator meets. */
import { expect } from 'vitest';
import { ManualClock } from './clock.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from './deliveries.ts';
import type { Logs } from './logs.ts';
import type { Receiver } from './public.ts';
import { started, stopped } from './receiver.ts';
import { temporaryDatabase } from './temporary.ts';

export interface Operated {
  readonly receiver: Receiver;
  readonly logs: Logs;
  /** From now on the handler succeeds. */
  readonly mend: () => void;
}

/** The events of a call, and how many seconds after its start they happened. */
const story = [
  ['trace-started', 'CallHandler.CallStarted', 0],
  ['trace-ended', 'CallHandler.CallEnded', 192],
  ['trace-analysed', 'callAnalysis.pcaCompleted', 201],
] as const;

/** A body whose event happened within the last minutes. */
function bodyAt(traceId: string, eventName: string, seconds: number): string {
  const timestamp = new Date(Date.now() - 300_000 + seconds * 1_000).toISOString();
  const body = JSON.parse(
    bodyOf({ traceId, eventName, callId: 'call-1', payload: { novelty: 1 } }),
  ) as object;
  return JSON.stringify({ ...body, timestamp });
}

/** A call with its three events, one of which is a dead letter, a delivery in quarantine, and a history. */
export async function operated(): Promise<Operated> {
  const database = temporaryDatabase();
  // The page shows minutes that are over.
  const clock = new ManualClock(Date.now() - 120_000);
  const former = await started({ database, clock });
  const forged = bodyOf({ traceId: 'trace-forged' });
  await deliver(former.receiver, forged, signedHeaders(forged, { secrets: otherSecret }));
  await expect.poll(async () => (await former.receiver.counts()).quarantine.notAuthentic).toBe(1);
  // Counts are written when a minute is over or the receiver stops: no test waits for the minute.
  await stopped(former.receiver, clock);

  let isMended = false;
  const { receiver, logs } = await started({ database }, (r) =>
    r.on('*', { name: 'crm', retry: { attempts: 1 } }, ({ traceId }) => {
      if (traceId === 'trace-ended' && !isMended) throw new Error('the CRM is down');
    }),
  );
  for (const [traceId, eventName, seconds] of story)
    await deliver(receiver, bodyAt(traceId, eventName, seconds));
  await Promise.all([logs.until('run_dead'), logs.until('run_done', story.length - 1)]);
  return { receiver, logs, mend: () => (isMended = true) };
}
