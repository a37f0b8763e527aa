/** A receiver that reconciles, and stand-ins for what it reads from the platform. */
import { ManualClock } from '../support/clock.ts';
import { deliver as deliverSigned, signedHeaders } from '../support/deliveries.ts';
import type { CallEvent, ReadCall, Receiver, ReconcileOptions } from '../support/public.ts';
import { started } from '../support/receiver.ts';

/** When everything is signed and received. Files that share this one may begin many minutes after it. */
export const start = Date.now();
export const before = (ms: number) => new Date(start - ms).toISOString();
export const [startedName, endedName, analysedName] = [
  'CallHandler.CallStarted',
  'CallHandler.CallEnded',
  'callAnalysis.pcaCompleted',
];
export const endedCall = {
  call_status: 'ended',
  call_start_time: before(600_000),
  call_end_time: before(300_000),
  ai_agent_id: 'agent_1',
};
export const notReady = Object.assign(new Error('not ready'), { code: 'not_ready' });

/** Reads calls back from an object of answers; an error is thrown. */
export function readersOf(answers: Readonly<Record<string, ReadCall | Error>>, analysis: unknown = {}) {
  const asked: string[] = [];
  const readers: Pick<ReconcileOptions, 'calls' | 'analyses' | 'since' | 'ids'> = {
    calls: {
      async get(callId) {
        asked.push(callId);
        const answer = answers[callId] ?? new Error('none of this id');
        if (answer instanceof Error) throw answer;
        return answer;
      },
    },
    analyses: {
      async get(agentId, callId, { timeout }) {
        asked.push(`${agentId} ${callId} ${timeout}`);
        if (analysis instanceof Error) throw analysis;
        return analysis;
      },
    },
    since: '1h',
    ids: () => Object.keys(answers),
  };
  return { readers, asked };
}

/** Delivers a body that was signed at the start. */
export const deliver = (receiver: Receiver, body: string) =>
  deliverSigned(receiver, body, signedHeaders(body, { timestamp: start }));

/** A receiver, and the events that its handler was given. */
export async function receiving(options: Parameters<typeof started>[0] = {}) {
  const events: CallEvent[] = [];
  const clock = new ManualClock(start);
  const take = (receiver: Receiver) => receiver.on('*', (event: CallEvent) => void events.push(event));
  const { receiver, logs } = await started({ clock, ...options }, take);
  return { receiver, logs, events, clock };
}
