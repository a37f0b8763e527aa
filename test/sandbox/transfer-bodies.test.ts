/** The values of the transfer's body that the platform's document lists. */
import { expect, test } from 'vitest';
import type { CallPlan } from '../../src/sandbox/index.ts';
import { subscribed } from './delivery-subscription.ts';
import { destination } from './destination.ts';
import { startedSandbox } from './support.ts';

interface TransferBody {
  readonly status: string;
  readonly transfer_to: string;
  readonly call_summary: { readonly duration_seconds: number; readonly customer_sentiment: string };
  readonly transcript: readonly { readonly role: string; readonly content: string }[];
  readonly metadata: { readonly call_start_time: string; readonly call_end_time: string };
}

/** The bodies of calls that are transferred, each with its plan. */
async function transfers(plans: readonly CallPlan[]): Promise<TransferBody[]> {
  const sandbox = await startedSandbox({ speed: 100_000, callSeed: 'transfers' });
  const { url, received } = await destination();
  await subscribed(sandbox, url, { events: ['CallHandler.CallTransferred'] });
  for (const plan of plans) {
    await sandbox.calls.play({ scenario: 'transferred', transferBody: 'flat', ...plan });
  }
  return received.map(({ json }) => json as unknown as TransferBody);
}

test('a transfer has each status and each sentiment of the document', async () => {
  const statuses = ['pending', 'initiated', 'success', 'failed'] as const;
  const sentiments = ['positive', 'neutral', 'negative'] as const;
  const bodies = await transfers([
    ...statuses.map((transferStatus) => ({ transferStatus })),
    ...sentiments.map((sentiment) => ({ sentiment })),
  ]);
  expect(bodies.slice(0, 4).map(({ status }) => status)).toEqual(statuses);
  expect(bodies.slice(4).map(({ call_summary: summary }) => summary.customer_sentiment)).toEqual(sentiments);
});

test('a transfer states its own time, and how long the call was until then', async () => {
  const [body] = await transfers([{ duration: '2m', timestamps: 'iso' }]);
  const { call_start_time: start = '', call_end_time: end = '' } = body?.metadata ?? {};
  const seconds = (Date.parse(end) - Date.parse(start)) / 1_000;
  expect(body?.call_summary.duration_seconds).toBe(Math.round(seconds));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThan(120);
});

test('a transfer goes to a SIP address, a phone number or an extension, and has what both sides said', async () => {
  const bodies = await transfers(Array.from({ length: 40 }, () => ({})));
  const kindOf = (to: string) => [/^sip:.+@.+/, /^\+\d{8,}$/, /^\d{1,6}$/].findIndex((form) => form.test(to));
  expect(new Set(bodies.map((body) => kindOf(body.transfer_to)))).toEqual(new Set([0, 1, 2]));
  for (const { transcript } of bodies) {
    expect(new Set(transcript.map(({ role }) => role))).toEqual(new Set(['agent', 'user']));
  }
});
