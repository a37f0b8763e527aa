import type { Scheme } from '../../events/model.ts';
import { isAddressLiteral } from '../../kit/addresses.ts';
import { lowerCased } from '../../kit/header-fields.ts';
import { sign } from '../../signature/sign-and-verify.ts';
import type { SandboxEvent, Subscription } from '../model.ts';

export interface DeliveryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** The input of a request; the adversary passes other secrets, or another body to sign. */
interface RequestParts {
  readonly scheme: Scheme;
  /** When it is sent, in milliseconds since 1970. */
  readonly now: number;
  readonly secrets?: readonly string[];
  readonly signedBody?: Uint8Array;
}

/** The headers that frame the body. A subscription's own values could contradict the sent body. */
const framingHeaders = new Set(['connection', 'content-length', 'trailer', 'transfer-encoding']);

/**
 * The request of one attempt: the subscription's headers, the service's headers, and the signature (platform document,
 * Delivery request). `X-Webhook-Timestamp` is the time of the attempt, because a signature may cover it: with the
 * event's time, a receiver would refuse a retry as too old.
 */
export function requestOf(
  event: SandboxEvent,
  subscription: Subscription,
  parts: RequestParts,
): DeliveryRequest {
  const { body, traceId, eventName } = event;
  const { scheme, now, secrets = secretsOf(subscription, now), signedBody = body } = parts;
  const headers = {
    ...ownHeaders(subscription),
    'content-type': 'application/json',
    'content-length': String(body.byteLength),
    'x-webhook-event': eventName,
    'x-webhook-traceid': traceId,
    'x-webhook-timestamp': new Date(now).toISOString(),
    ...(secrets.length > 0 && sign(signedBody, { secrets, scheme: scheme, traceId, timestamp: now })),
  };
  return { url: subscription.url, headers, body };
}

/** The current secret, and for 72 hours after a rotation also the previous one; none for an unsigned subscription. */
function secretsOf({ secret, previousSecret }: Subscription, now: number): readonly string[] {
  if (secret === undefined) return [];
  return previousSecret && previousSecret.expiresAt > now ? [secret, previousSecret.secret] : [secret];
}

function ownHeaders({ headers = {} }: Subscription): Record<string, string> {
  return Object.fromEntries(
    Object.entries(lowerCased(headers)).filter(([name]) => !framingHeaders.has(name)),
  );
}

/** Why the platform would make no attempt, with the codes of the client's warnings about a subscription. */
export type UndeliverableReason = 'url_not_https' | 'url_is_address';

/**
 * Why the platform would not deliver to an address: it requires HTTPS and a domain name (platform document, Delivery
 * request). Undefined if it would. A name that resolves to loopback is allowed: the document says nothing about the
 * address behind a name, and a receiver under test has no other.
 */
export function undeliverable(address: string): UndeliverableReason | undefined {
  const url = URL.parse(address);
  // An invalid address is left to the attempt, which fails.
  if (!url) return undefined;
  if (url.protocol !== 'https:') return 'url_not_https';
  return isAddressLiteral(url.hostname) ? 'url_is_address' : undefined;
}
