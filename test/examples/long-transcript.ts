/** What every example that takes deliveries has to do with a long transcript, whatever framework it is in. */
import { expect } from 'vitest';
import { type SignedDelivery, buildDelivery, deliverTo } from '../../src/testing/index.ts';
import type { Program } from '../package/program.ts';

export const secret = 'whsec_ZXhhbXBsZXM=';

/** The answer to what did not come over HTTPS. */
export const refused = { status: 403, body: { error: 'https_required' } };

/** A call with a transcript that is longer than the bodies that frameworks take by default. */
export function transcript(headers: Readonly<Record<string, string>> = {}): SignedDelivery {
  const call = {
    call_id: 'call_1',
    agent_id: 'agent_1',
    status: 'success',
    transcript: 'x'.repeat(1_200_000),
  };
  const body = { eventName: 'CallHandler.CallEnded', traceId: 'trace-1', payload: call };
  return buildDelivery(body, { secret, headers: { 'content-type': 'application/json', ...headers } });
}

/** Delivers it as the proxy of an app does, again as long as it is not on disk in time, and waits until it is handled. */
export async function handlesTranscript(app: Program, base: string): Promise<void> {
  const proxied = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'calls.example.com' };
  await expect
    .poll(() => deliverTo(`${base}/webhooks/calls`, transcript(proxied)))
    .toEqual({ status: 200, body: { status: 'accepted', traceId: 'trace-1' } });
  expect(await app.line('run_done', 'run_retry')).toMatchObject({ event: 'run_done' });
}

/**
 * Last in a test, because a server may close the connection after what it has not read: on a busy machine, that may come before the
 * answer is read.
 */
export async function refusesPlainHttp(base: string): Promise<void> {
  await expect.poll(() => deliverTo(`${base}/webhooks/calls`, transcript())).toEqual(refused);
}
