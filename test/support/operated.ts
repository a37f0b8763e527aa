/** A receiver with something of everything that an operator meets. */
import { expect } from 'vitest';
import { bodyOf, deliver, otherSecret, signedHeaders } from './deliveries.ts';
import type { Logs } from './logs.ts';
import type { Receiver } from './public.ts';
import { started } from './receiver.ts';

export interface Operated {
  readonly receiver: Receiver;
  readonly logs: Logs;
  /** From now on the handler succeeds. */
  readonly mend: () => void;
}

/** A call with its three events, one of which is a dead letter, and a delivery in quarantine. */
export async function operated(): Promise<Operated> {
  let isMended = false;
  const { receiver, logs } = await started({}, (r) =>
    r.on('*', { name: 'crm', retry: { attempts: 1 } }, ({ traceId }) => {
      if (traceId === 'trace-ended' && !isMended) throw new Error('the CRM is down');
    }),
  );
  const callId = 'call-1';
  const at = (seconds: number) => ({ timestamp: Date.now() - 300_000 + seconds * 1_000 });
  const start = { eventName: 'CallHandler.CallStarted', traceId: 'trace-started', callId, payload: at(0) };
  await deliver(receiver, bodyOf(start));
  await deliver(receiver, bodyOf({ traceId: 'trace-ended', callId, payload: at(192) }));
  const analysis = { eventName: 'callAnalysis.pcaCompleted', traceId: 'trace-analysed', callId };
  await deliver(receiver, bodyOf({ ...analysis, payload: at(201) }));
  await logs.until('run_dead');
  const forged = bodyOf({ traceId: 'trace-forged' });
  await deliver(receiver, forged, signedHeaders(forged, { secrets: otherSecret }));
  await expect.poll(async () => (await receiver.counts()).quarantine.notAuthentic).toBe(1);
  return { receiver, logs, mend: () => (isMended = true) };
}
