import { describe, expect, test } from 'vitest';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import type { SchemeName } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { respelled } from '../support/respelled.ts';
import { temporaryDatabase } from '../support/temporary.ts';

/** A body without a trace id. */
const unnamed = (callId: string) =>
  JSON.stringify({ eventName: 'CallHandler.CallEnded', payload: { call_id: callId } });

describe('an unsigned trace id in the header', () => {
  test('never suppresses an event that comes with it later, and is found by it', async () => {
    const seen: string[] = [];
    const { receiver, logs } = await started({ database: temporaryDatabase() }, (r) =>
      r.on('*', ({ callId }) => void seen.push(callId ?? '')),
    );
    const send = (body: string) =>
      deliver(receiver, body, { ...signedHeaders(body), 'x-webhook-traceid': 'trace-to-come' });
    // An attacker who has kept a delivery from arriving sends it under the id of an event that is still to come.
    expect((await send(unnamed('call-kept-back'))).json).toEqual({
      status: 'accepted',
      traceId: 'trace-to-come',
    });
    expect((await send(unnamed('call-1'))).json.status).toBe('accepted');
    expect((await send(bodyOf({ traceId: 'trace-to-come', callId: 'call-2' }))).json.status).toBe('accepted');
    // Its bytes are signed: a copy is a copy, under whatever id.
    expect((await send(unnamed('call-1'))).json.status).toBe('duplicate');
    await logs.until('run_done', 3);
    expect(seen.toSorted()).toEqual(['call-1', 'call-2', 'call-kept-back']);
    expect((await receiver.events.get('trace-to-come'))?.traceId).toBe('trace-to-come');
    expect((await receiver.events.list({ traceId: 'trace-to-come' })).events).toHaveLength(3);
  });
});

const inItsOwnHeader: SchemeName = 'x-standard-webhooks-whole';
const inStandardHeader: SchemeName = 'standard-webhooks-whole';

describe('a signed trace id in the header', () => {
  test('is what counts, and is not a duplicate of an unsigned one', async () => {
    const { receiver } = await started();
    const kept = unnamed('call-kept-back');
    const genuine = signedHeaders(kept, { scheme: inItsOwnHeader, traceId: 'trace-1' });
    // In the other header's name, the platform's own header with the id is no longer covered by the signature.
    const attack = {
      ...respelled(genuine, inItsOwnHeader, inStandardHeader),
      'x-webhook-traceid': 'trace-to-come',
    };
    expect((await deliver(receiver, kept, attack)).json).toEqual({ status: 'accepted', traceId: 'trace-1' });
    expect((await deliver(receiver, kept, genuine)).json.status).toBe('duplicate');
    const body = unnamed('call-1');
    const headers = signedHeaders(body, { scheme: inItsOwnHeader, traceId: 'trace-to-come' });
    expect((await deliver(receiver, body, headers)).json.status).toBe('accepted');
    expect((await receiver.events.get('trace-to-come'))?.body).toEqual(JSON.parse(body));
    expect((await receiver.events.get('trace-1'))?.body).toEqual(JSON.parse(kept));
  });

  test.each([inItsOwnHeader, inStandardHeader])(
    'tells apart two events with the same bytes, and knows a copy: %s',
    async (scheme) => {
      const seen: string[] = [];
      const { receiver, logs } = await started({}, (r) =>
        r.on('*', ({ traceId }) => void seen.push(traceId)),
      );
      const body = unnamed('call-1');
      const send = (traceId: string) => deliver(receiver, body, signedHeaders(body, { scheme, traceId }));
      const statuses: unknown[] = [];
      for (const traceId of ['trace-1', 'trace-2', 'trace-1'])
        statuses.push((await send(traceId)).json.status);
      expect(statuses).toEqual(['accepted', 'accepted', 'duplicate']);
      await logs.until('run_done', 2);
      expect(seen.toSorted()).toEqual(['trace-1', 'trace-2']);
    },
  );
});
