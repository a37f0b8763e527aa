/** Events of calls for property tests, which every store must compute the same calls of. */
import * as fc from 'fast-check';
import type { CallFacts } from '../../src/calls/timeline.ts';
import { names } from './call-events.ts';

/** Few different values, so that times often collide and it matters which event takes precedence. */
const time = fc
  .oneof(fc.nat(2), fc.integer({ min: -1, max: 99_999_999 }))
  .map((ms) => Date.UTC(2026, 0) + ms);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const word = fc.constantFrom('', 'a', '"quoted" \\ and\nbroken', "it's 😀 \\u0000 null", '{"$":1}', '17');
const facts: fc.Arbitrary<CallFacts> = fc.record({
  agentId: maybe(word),
  status: maybe(fc.constantFrom('failed', 'completed', '')),
  reason: maybe(word),
  destination: maybe(word),
  sentiment: maybe(word),
  callStart: maybe(time),
  callEnd: maybe(time),
  source: fc.constantFrom('body', 'body', 'header', 'arrival'),
});

/** Two events may have one trace id: one in its body, the other in its header. */
export const callEvent = fc.record({
  callId: fc.constantFrom('call-1', "call-2's", 'call-😀'),
  traceId: fc.constantFrom('t-1', 't-2', 't-3', 't-10', 'U-1'),
  eventName: fc.constantFrom(...Object.values(names), 'Another.Event'),
  organizationId: maybe(word.filter((text) => text !== '')),
  occurredAt: time,
  receivedAt: time,
  facts,
});

/** An event in a list of calls. */
export const listEvent = fc.record({
  callId: maybe(fc.nat(6).map((id) => `call-${id}`)),
  eventName: fc.constantFrom(...Object.values(names)),
  // Not in order: a delivery released from quarantine keeps its time, and clocks are set.
  receivedAt: fc.nat(8),
  agentId: fc.constantFrom(undefined, 'agent-1', 'agent-2'),
});

const sometimes = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });

/** A filter of such a list. */
export const listFilter = fc.record({
  agentId: sometimes(fc.constantFrom('agent-1', 'agent-2')),
  status: sometimes(fc.constantFrom('in_progress', 'ended', 'transferred', 'analysed')),
  since: sometimes(fc.nat(8)),
  until: sometimes(fc.nat(9)),
  limit: fc.integer({ min: 1, max: 4 }),
});
