/** The two bodies of the benchmark. Each delivery differs in its trace id and call id only. */
export type BodyName = '0.4 KB' | '8 KB';

/** A body as text, with its own ids. */
export function bodyOf(name: BodyName, id: string): string {
  return JSON.stringify(name === '0.4 KB' ? callEnded(id) : callTransferred(id));
}

function callEnded(id: string) {
  return {
    traceId: `trace-${id}`,
    organizationId: '6f2b7c1e-0a4d-4c57-9f1e-3b8a52d7c410',
    eventName: 'CallHandler.CallEnded',
    event: 'CallEnded',
    timestamp: new Date().toISOString(),
    payload: {
      call_id: `call-${id}`,
      agent_id: '0d9a41b2-73fe-4a0e-8f21-c6d5e4b3a291',
      status: 'success',
      note: 'n'.repeat(60),
    },
  };
}

function callTransferred(id: string) {
  return {
    ...callEnded(id),
    eventName: 'CallHandler.CallTransferred',
    event: 'CallTransferred',
    payload: {
      call_id: `call-${id}`,
      agent_id: '0d9a41b2-73fe-4a0e-8f21-c6d5e4b3a291',
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
    },
  };
}
