import { describe, expect, expectTypeOf, it } from 'vitest';
import { isKnownEvent } from '../../src/events/event-types.ts';
import type { EventMap, EventOf, KnownEvent } from '../../src/events/event-types.ts';
import { readEvent } from '../../src/events/read-event.ts';
import type { CallEvent } from '../../src/events/model.ts';
import type { KnownEventName } from '../../src/events/names.ts';
import type { payloadSchemas } from '../../src/events/schemas.ts';
import type { z } from 'zod';

type Ended = EventOf<'CallHandler.CallEnded'>;

/** Only for the compiler to check; never called. */
export function typesOfOneName(event: Ended): void {
  const callId: string = event.payload.call_id;
  const status: string | undefined = event.payload.status;
  // @ts-expect-error: a call id is a string
  const wrong: number = event.payload.call_id;
  // @ts-expect-error: a misspelled field is an error, not unknown
  const misspelled: unknown = event.payload.cal_id;
  // @ts-expect-error: only a transfer has a destination
  const foreign: unknown = event.payload.transfer_to;
  const unknownField: unknown = event.body['cal_id'];
  void [callId, status, wrong, misspelled, foreign, unknownField];
}

export function typesOfATransfer({ payload }: EventOf<'CallHandler.CallTransferred'>): void {
  expectTypeOf(payload.transfer_to).toEqualTypeOf<string>();
  expectTypeOf(payload.call_summary?.duration_seconds).toEqualTypeOf<number | undefined>();
  expectTypeOf(payload.transcript?.[0]?.content).toEqualTypeOf<string | undefined>();
  // @ts-expect-error: within the payload, too, a misspelled field is an error
  const misspelled: unknown = payload.call_summary?.duration;
  // @ts-expect-error: optional fields may be missing
  const language: string = payload.metadata?.language;
  const open: typeof payload.status = 'a status that nobody knows yet';
  void [misspelled, language, open];
}

export function typesOfAPattern(event: EventOf<'*'>): void {
  if (!isKnownEvent(event)) return;
  if (event.eventName === 'callAnalysis.pcaCompleted') {
    expectTypeOf(event.payload.reason).toEqualTypeOf<string | undefined>();
  }
}

export function typesOfAService(event: EventOf<'CallHandler.*'>): void {
  const other: boolean = event.eventName === 'CallHandler.CallPaused';
  // @ts-expect-error: an event of another service can't come
  const foreign: boolean = event.eventName === 'callAnalysis.pcaCompleted';
  void [other, foreign];
  if (isKnownEvent(event)) expectTypeOf(event.payload.call_id).toEqualTypeOf<string>();
}

describe('EventOf', () => {
  it('is the union of what the names match', () => {
    expectTypeOf<Ended>().toEqualTypeOf<
      CallEvent<'CallHandler.CallEnded', EventMap['CallHandler.CallEnded']>
    >();
    expectTypeOf<EventOf<readonly ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted']>>().toEqualTypeOf<
      Ended | EventOf<'callAnalysis.pcaCompleted'>
    >();
    expectTypeOf<EventOf<'Billing.Charged'>>().toEqualTypeOf<CallEvent<'Billing.Charged'>>();
    expectTypeOf<EventOf<'Billing.*'>>().toEqualTypeOf<CallEvent<`Billing.${string}`>>();
    expectTypeOf<EventOf<'*'>>().toEqualTypeOf<KnownEvent | CallEvent>();
    expectTypeOf<EventOf<string[]>>().toEqualTypeOf<KnownEvent | CallEvent>();
    expectTypeOf<KnownEvent>().toExtend<CallEvent>();
  });
});

describe('the payload types', () => {
  it('have the fields that the schemas read, each of the same type', () => {
    type Read = { [Name in KnownEventName]: z.output<(typeof payloadSchemas)[Name]> };
    expectTypeOf<EventMap>().toEqualTypeOf<Read>();
  });
});

describe('isKnownEvent', () => {
  const read = (body: Record<string, unknown>) =>
    readEvent(body, { body: Buffer.alloc(0), headers: {}, receivedAt: 0 }).event;

  it('is true for a known event with all its fields, not for an incomplete or unknown one', () => {
    expect(isKnownEvent(read({ eventName: 'CallHandler.CallEnded', payload: { call_id: 'c' } }))).toBe(true);
    expect(isKnownEvent(read({ eventName: 'CallHandler.CallEnded', payload: {} }))).toBe(false);
    expect(isKnownEvent(read({ eventName: 'CallHandler.CallPaused', payload: { call_id: 'c' } }))).toBe(
      false,
    );
  });
});
