import type { Receiver } from 'ringback';
import { buildDelivery, deliver, handled, manualClock, testReceiver } from 'ringback/testing';
import { afterEach, expect, it, vi } from 'vitest';
import { registerHandlers, type Crm } from './handlers.ts';

let receiver: Receiver;
// Without `drain: 0`, a handler that never ends would hold this up for ten seconds.
afterEach(() => receiver.stop({ drain: 0 }));

async function start(callEnded: Crm['callEnded'], clock = manualClock()) {
  receiver = testReceiver({ clock });
  registerHandlers(receiver, { callEnded });
  await receiver.start();
  return clock;
}

it('tells the CRM of a call that ended, once, however often the delivery comes', async () => {
  const callEnded = vi.fn<Crm['callEnded']>().mockResolvedValue('saved');
  await start(callEnded);
  const delivery = buildDelivery('call-ended', { traceId: 't-1', callId: 'call_42' });

  expect((await deliver(receiver, delivery)).body).toEqual({ status: 'accepted', traceId: 't-1' });
  expect((await deliver(receiver, delivery)).body).toEqual({ status: 'duplicate', traceId: 't-1' });
  await handled(receiver, 't-1');

  expect(callEnded.mock.calls.map(([callId]) => callId)).toEqual(['call_42']);
});

it('tries again when the CRM is down, without the test waiting for it', async () => {
  const callEnded = vi
    .fn<Crm['callEnded']>()
    .mockRejectedValueOnce(new Error('down'))
    .mockResolvedValue('saved');
  const clock = await start(callEnded);

  await deliver(receiver, buildDelivery('call-ended', { traceId: 't-2' }));
  await handled(receiver, 't-2', { clock });

  expect(callEnded).toHaveBeenCalledTimes(2);
});

it('gives up at once on a customer that the CRM does not know', async () => {
  await start(async () => 'unknown customer');

  await deliver(receiver, buildDelivery('call-ended', { traceId: 't-3' }));
  const { runs } = await handled(receiver, 't-3');

  expect(runs).toMatchObject([
    { handler: 'tell-crm', state: 'dead', reason: 'the CRM does not know this customer' },
  ]);
});
