/** U+0000, which Postgres refuses, and half surrogate pairs, which neither database keeps, in every text that it is given. */
import { describe, expect, test } from 'vitest';
import { isStorable } from '../../src/kit/values.ts';
import { bodyOf, deliver, otherSecret, signedHeaders } from '../support/deliveries.ts';
import { isOnPostgres } from '../support/inbox.ts';
import { Discard } from '../support/public.ts';
import { deliverUntilTaken, started } from '../support/receiver.ts';

const shown = '\ufffd';

describe.each(['\0', '\ud800', '\udc00'])('a text with %j', (odd) => {
  const text = `a${odd}b`;
  const asShown = `a${shown}b`;
  /** SQLite keeps U+0000 in what is written about runs and by people. */
  const asKept = odd === '\0' && !isOnPostgres ? text : asShown;

  test('is in what a transfer says about its call, and is found there', async () => {
    const payloads: unknown[] = [];
    const { receiver } = await started({}, (r) => r.on('*', ({ payload }) => void payloads.push(payload)));
    const said = { transfer_to: text, status: text, agent_id: text, note: text };
    const payload = { ...said, call_summary: { transfer_reason: text, customer_sentiment: text } };
    await deliverUntilTaken(
      receiver,
      bodyOf({ eventName: 'CallHandler.CallTransferred', callId: 'call-1', payload }),
    );
    const transfer = { destination: asShown, status: asShown, reason: asShown, sentiment: asShown };
    const call = { callId: 'call-1', agentId: asShown, transfer };
    expect(await receiver.calls.get('call-1')).toMatchObject(call);
    for (const agentId of [text, asShown]) {
      expect(await receiver.calls.list({ agentId })).toMatchObject({ calls: [call] });
      expect(await receiver.events.list({ agentId })).toMatchObject({ events: [{ callId: 'call-1' }] });
    }
    await expect.poll(() => payloads).toMatchObject([payload]);
  });

  test('is no id: neither of an event, of a call, of an organization, nor the name of an event', async () => {
    const { receiver } = await started();
    const body = { traceId: text, organizationId: text, payload: { call_id: text, organization_id: text } };
    await deliverUntilTaken(receiver, JSON.stringify({ ...body, eventName: text }));
    const { events } = await receiver.events.list();
    expect(events).toMatchObject([
      { traceId: expect.stringMatching(/^sha256:/), callId: undefined, organizationId: undefined },
    ]);
    expect(isStorable(events[0]?.eventName ?? odd)).toBe(true);
    expect(await receiver.events.get(text)).toBeUndefined();
    expect(await receiver.calls.get(text)).toBeUndefined();
    for (const filter of [{ traceId: text }, { callId: text }, { eventName: text }, { handler: text }])
      expect(await receiver.events.list(filter)).toMatchObject({ events: [] });
  });

  test('never has another call erased', async () => {
    const { receiver } = await started();
    await deliverUntilTaken(receiver, bodyOf({ callId: asShown }));
    await expect(receiver.erase({ callId: text })).rejects.toMatchObject({ code: 'option_invalid' });
    expect(await receiver.calls.get(asShown)).toMatchObject({ callId: asShown });
  });

  test('is in the reason of a failure, in who replays it and why, and in the pause of its handler', async () => {
    const { receiver } = await started({}, (r) =>
      r.on('*', { name: 'crm' }, () => {
        throw new Discard(text);
      }),
    );
    await deliverUntilTaken(receiver, bodyOf({ traceId: 't' }));
    const run = { handler: 'crm', state: 'dead', reason: asKept, failures: [{ reason: asKept }] };
    await expect.poll(() => receiver.events.get('t')).toMatchObject({ runs: [run] });
    expect(await receiver.failures.list()).toMatchObject([{ handler: 'crm', message: asKept }]);
    const account = { by: text, reason: text };
    const asListed = { by: asKept, reason: asKept };
    expect(await receiver.handlers.pause('crm', account)).toMatchObject(asListed);
    await receiver.events.replay({ state: 'dead' }, account);
    expect(await receiver.audit.list({ limit: 1 })).toMatchObject({ entries: [asListed] });
    await receiver.handlers.resume('crm', account);
  });

  test('is in the body of a delivery in quarantine, which is found by no trace id', async () => {
    const { receiver } = await started();
    const body = bodyOf({ callId: 'call-1', payload: { note: text } });
    await deliver(receiver, body, signedHeaders(body, { secrets: otherSecret }));
    const { deliveries } = await receiver.quarantine.list();
    expect(deliveries).toHaveLength(1);
    expect(await receiver.quarantine.list({ traceId: text })).toMatchObject({ deliveries: [] });
  });
});
