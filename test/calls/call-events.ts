import { setImmediate } from 'node:timers/promises';
import { deliver, signedHeaders } from '../support/deliveries.ts';
import type { Receiver } from '../support/public.ts';

export const names = {
  started: 'CallHandler.CallStarted',
  ended: 'CallHandler.CallEnded',
  transferred: 'CallHandler.CallTransferred',
  analysed: 'callAnalysis.pcaCompleted',
} as const;

/** One event of a call, with or without a time of its own. */
export interface CallEventParts {
  readonly name: keyof typeof names;
  readonly callId: string;
  readonly traceId: string;
  /** The timestamp in the body. */
  readonly timestamp?: string | undefined;
  /** The timestamp in the header. */
  readonly headerTimestamp?: string | undefined;
  readonly payload?: Readonly<Record<string, unknown>>;
}

/** The fields that the payload of each event must have. */
const payloads: Readonly<Record<CallEventParts['name'], Readonly<Record<string, unknown>>>> = {
  started: { agent_id: 'agent_1' },
  ended: { agent_id: 'agent_1', status: 'success' },
  transferred: { agent_id: 'agent_1', status: 'initiated', transfer_to: 'sip:support@example.com' },
  analysed: { agent_id: 'agent_1', status: 'completed' },
};

/** Delivers an event of a call. */
export async function deliverEvent(receiver: Receiver, event: CallEventParts): Promise<void> {
  const { name, callId, traceId, timestamp, headerTimestamp, payload } = event;
  const body = JSON.stringify({
    traceId,
    eventName: names[name],
    organizationId: 'org_example',
    payload: { call_id: callId, ...payloads[name], ...payload },
    ...(timestamp !== undefined && { timestamp }),
  });
  const headers = {
    ...signedHeaders(body),
    ...(headerTimestamp !== undefined && { 'x-webhook-timestamp': headerTimestamp }),
  };
  const { status } = await deliver(receiver, body, headers);
  if (status !== 200) throw new Error(`The delivery was answered with ${status}`);
}

/** Resolves when the event's state is `done`. */
export async function settled(receiver: Receiver, traceId: string): Promise<void> {
  while ((await receiver.events.get(traceId))?.state !== 'done') await setImmediate();
}

/** Every order of the items. */
export function permutations<Item>(items: readonly Item[]): readonly (readonly Item[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((item, index) =>
    permutations(items.toSpliced(index, 1)).map((others) => [item, ...others]),
  );
}
