import { configError, ringbackError } from '../errors/errors.ts';
import { describe, hasMethods } from '../errors/option-problems.ts';
import { isObject } from '../kit/values.ts';
import { fetchCauseOf, metPlainHttp } from '../kit/error-text.ts';
import { jsonOrText, sentOnce } from '../kit/http-bodies.ts';
import type { Receiver } from '../receiver/receiver.ts';
import type { SignedDelivery } from './delivery.ts';

export interface DeliveryAnswer {
  readonly status: number;
  /** The parsed JSON, or the text if it isn't JSON. */
  readonly body: unknown;
}

/** How long `deliverTo` waits for an answer, in milliseconds: far longer than the platform does. */
const timeout = 30_000;

/**
 * Delivers in-process, without a socket, as if over HTTPS.
 *
 * @param url What the delivery is addressed to; only its protocol and its host count.
 * @throws ConfigError for an argument that is not a receiver or not a delivery
 * @example expect(await deliver(receiver, buildDelivery('call-ended'))).toMatchObject({ status: 200 });
 */
export async function deliver(
  receiver: Pick<Receiver, 'fetch'>,
  delivery: SignedDelivery,
  url = 'https://receiver.test/',
): Promise<DeliveryAnswer> {
  if (!hasMethods(receiver, ['fetch']))
    throw wrongArgument('deliver(receiver)', 'what createReceiver or testReceiver has returned', receiver);
  const { body, headers } = checkedDelivery(delivery, 'deliver');
  const request = { method: 'POST', headers: { ...headers }, body: new Uint8Array(body) };
  return answerOf(await receiver.fetch(new Request(url, request)));
}

/**
 * Delivers over HTTP or HTTPS.
 *
 * @throws RingbackError `delivery_unsent` if there is no answer; ConfigError for an argument that is not a delivery
 * @example await deliverTo('http://127.0.0.1:8080/webhooks', buildDelivery('call-ended'));
 */
export async function deliverTo(url: string | URL, delivery: SignedDelivery): Promise<DeliveryAnswer> {
  const { body, headers } = checkedDelivery(delivery, 'deliverTo');
  try {
    const signal = AbortSignal.timeout(timeout);
    const request = sentOnce(new Uint8Array(body), headers);
    return await answerOf(await fetch(url, { method: 'POST', ...request, redirect: 'manual', signal }));
  } catch (error) {
    const fix = metPlainHttp(error) ? 'Write http:// in the URL, or the port that speaks https.' : undefined;
    throw ringbackError('delivery_unsent', { url: String(url), cause: fetchCauseOf(error), fix });
  }
}

async function answerOf(response: Response): Promise<DeliveryAnswer> {
  const text = await response.text();
  return { status: response.status, body: jsonOrText(text) };
}

/** Refuses other values, such as a fixture's name: sent as an empty body, it would get an unexplained 401. */
function checkedDelivery(delivery: SignedDelivery, where: string): SignedDelivery {
  // Not by instanceof: a test runner's bytes may be of another realm.
  if (isObject(delivery) && ArrayBuffer.isView(delivery['body']) && isObject(delivery['headers']))
    return delivery;
  throw wrongArgument(`${where}(delivery)`, 'what buildDelivery has returned', delivery);
}

function wrongArgument(option: string, expected: string, found: unknown) {
  return configError('option_invalid', { option, expected, found: describe(found) });
}
