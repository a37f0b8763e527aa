/** The two bodies of the benchmark. Deliveries differ only in their trace ids and call ids. */
export type BodyName = '0.4 KB' | '8 KB';

/** The name of the event in a body. */
export const eventNames: Readonly<Record<BodyName, string>> = {
  '0.4 KB': 'CallHandler.CallEnded',
  '8 KB': 'CallHandler.CallTransferred',
};

/** The size is filled up with blanks: an undocumented field would count as drift with each event. */
const indents: Readonly<Record<BodyName, number>> = { '0.4 KB': 3, '8 KB': 0 };

/** A body as text, with its own ids and the platform's form of a time. */
export function bodyOf(name: BodyName, traceId: string, callId: string): string {
  const envelope = {
    traceId,
    organizationId: '6f2b7c1e-0a4d-4c57-9f1e-3b8a52d7c410',
    eventName: eventNames[name],
    event: eventNames[name].replace('CallHandler.', ''),
    timestamp: new Date().toISOString().replace('Z', '123456Z'),
  };
  const payload = { call_id: callId, agent_id: '0d9a41b2-73fe-4a0e-8f21-c6d5e4b3a291' };
  const body = { ...envelope, payload: name === '0.4 KB' ? ended(payload) : transferred(payload) };
  return JSON.stringify(body, undefined, indents[name]);
}

function ended(payload: object): object {
  return { ...payload, status: 'success' };
}

function transferred(payload: object): object {
  return {
    ...payload,
    status: 'initiated',
    transfer_to: '+15550100',
    caller: { phone_number: '+15550101' },
    call_summary: {
      duration_seconds: 61,
      topics_discussed: ['invoice'],
      transfer_reason: 'asked for a person',
    },
    transcript: Array.from({ length: 60 }, (_, turn) => ({
      role: turn % 2 === 0 ? 'agent' : 'user',
      content: `Turn ${turn}: ${'words and more words '.repeat(4)}`,
    })),
  };
}
