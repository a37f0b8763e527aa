/** The parts of the fixtures. All data is made up: numbers from the fictional range, hosts from example.com. */

type Fields = Readonly<Record<string, unknown>>;

/** A recorded delivery. It has no signature: that is made when the delivery is sent. */
export interface Fixture {
  readonly description: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Fields;
  /** Used instead of `body` if no JSON object can give the exact bytes. */
  readonly rawBody?: string;
}

/** The time at which the calls of the fixtures end. */
export const endedAt = '2026-03-02T09:15:42.123456789Z';

const agentId = 'agent_7f3a';
const organizationId = 'org_example';

/** The headers that the platform sets, in lower case as node:http gives them. */
export function headers(eventName: string, traceId: string, timestamp: string = endedAt) {
  return {
    'content-type': 'application/json',
    'x-webhook-event': eventName,
    'x-webhook-traceid': traceId,
    'x-webhook-timestamp': timestamp,
  };
}

/** How an event differs from the documented one. */
interface Variant {
  readonly traceId: string;
  readonly timestamp?: string | number;
  readonly payload?: Fields;
  readonly envelope?: Fields;
}

/** An event in the envelope. */
export function enveloped(description: string, eventName: string, variant: Variant): Fixture {
  const { traceId, timestamp = endedAt, payload = {}, envelope = {} } = variant;
  const sentAt = typeof timestamp === 'string' && timestamp.includes('T') ? timestamp : endedAt;
  return {
    description,
    headers: headers(eventName, traceId, sentAt),
    body: {
      traceId,
      organizationId,
      payload: { call_id: 'call_0001', agent_id: agentId, status: 'success', ...payload },
      eventName,
      event: eventName.slice(eventName.indexOf('.') + 1),
      timestamp,
      ...envelope,
    },
  };
}

/** The fields of a transfer as the platform documents them. */
export function transfer(changes: Fields = {}): Fields {
  return {
    call_id: 'call_0002',
    agent_id: agentId,
    status: 'initiated',
    transfer_to: 'sip:support@example.com',
    caller: { phone_number: '+12025550100' },
    call_summary: {
      duration_seconds: 84,
      topics_discussed: ['delivery date', 'change of address'],
      actions_taken: ['looked up the order'],
      transfer_reason: 'the caller asked for a person',
      customer_sentiment: 'neutral',
      unresolved_issues: ['address not changed yet'],
    },
    transcript: [
      { role: 'agent', content: 'Hello, how can I help you?' },
      { role: 'user', content: 'I would like to change my address. Can I talk to a person?' },
    ],
    metadata: {
      call_start_time: '2026-03-02T09:14:18Z',
      call_end_time: '2026-03-02T09:15:42Z',
      language: 'en-US',
    },
    ...changes,
  };
}

/** Turns of a conversation whose texts have at least this many characters together. The same every time. */
export function longTranscript(characters: number): readonly Fields[] {
  const speech =
    'The parcel was to come on Tuesday, and it has not come. Let me look that up for you; it will take a moment. ' +
    'The order number begins with four zeros, I think. Thank you, it left the warehouse yesterday in the evening.';
  const turns: Fields[] = [];
  for (let length = 0; length < characters;) {
    const content = `${turns.length + 1}. ${speech}`;
    turns.push({ role: turns.length % 2 === 0 ? 'user' : 'agent', content });
    length += content.length;
  }
  return turns;
}
