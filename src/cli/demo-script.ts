import { type SignedDelivery, buildDelivery } from '../testing/delivery.ts';

/** One delivery of the demonstration. */
export interface Step {
  readonly delivery: SignedDelivery;
  /** The event's name without its service. */
  readonly name: string;
  readonly callId: string;
  /** What is worth seeing about it. */
  readonly remark: string;
}

/**
 * The deliveries of one call, as they come in the worst of cases: out of order, one twice, one forged, one that
 * nobody knows yet. Each call has ids of its own.
 */
export function stepsOf(call: number, secret: string, strangersSecret: string): readonly Step[] {
  const callId = `call-${call}`;
  const step = (name: string, fixture: string, remark: string, signedWith = secret): Step => {
    const traceId = `trace-${call}-${fixture}`;
    return {
      delivery: buildDelivery(fixture, { secret: signedWith, callId, traceId }),
      name,
      callId,
      remark,
    };
  };
  const ended = step('CallEnded', 'story-2-call-ended', 'the end');
  return [
    step('pcaCompleted', 'story-3-pca-completed', 'the analysis, before the call has even begun'),
    step('CallStarted', 'story-1-call-started', 'the beginning, late'),
    ended,
    { ...ended, remark: 'the same delivery again' },
    step('CallEnded', 'call-ended', 'signed with another secret', strangersSecret),
    step('CallTransferred', 'call-transferred-wrapped', 'to a person'),
    step('CallPaused', 'unknown-event', 'an event that nobody knows yet'),
  ];
}
