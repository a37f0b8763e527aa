import type { Scheme } from '../../events/model.ts';
import { isAddressLiteral } from '../../kit/addresses.ts';
import { lowerCased } from '../../kit/header-fields.ts';
import { sign } from '../../signature/sign.ts';
import type { SandboxEvent, Subscription } from '../model.ts';

/** One HTTP request, ready to be sent. */
export interface DeliveryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** What a request is made with; the adversary gives other secrets, or another body to sign. */
interface RequestParts {
  readonly scheme: Scheme;
  /** When it is sent, in milliseconds since 1970. */
  readonly now: number;
  /** What to sign with. @default the subscription's own */
  readonly secrets?: readonly string[];
  /** What to sign. @default the event's body */
  readonly signedBody?: Uint8Array;
}

/** The headers that frame the body. A subscription's own ones could contradict the body that is sent. */
const framingHeaders = new Set(['connection', 'content-length', 'trailer', 'transfer-encoding']);

/**
 * The request of one attempt: the subscription's own headers, those that the service sets, and the signature (platform
 * document, Delivery request). `X-Webhook-Timestamp` is the time of the attempt, because a signature may cover it: with
 * the event's own time, a receiver would refuse a retry as too old.
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

/** The present secret, and for 72 hours after a rotation also the previous one; none for an unsigned subscription. */
function secretsOf({ secret, previousSecret }: Subscription, now: number): readonly string[] {
  if (secret === undefined) return [];
  return previousSecret && previousSecret.expiresAt > now ? [secret, previousSecret.secret] : [secret];
}

function ownHeaders({ headers = {} }: Subscription): Record<string, string> {
  return Object.fromEntries(
    Object.entries(lowerCased(headers)).filter(([name]) => !framingHeaders.has(name)),
  );
}

/** Why the platform would make no attempt: the same names as the client's warnings about a subscription. */
export type UndeliverableReason = 'url_not_https' | 'url_is_address';

/**
 * Why the platform would not deliver to an address: it requires HTTPS and a domain name (platform document, Delivery
 * request). Undefined for an address that it would deliver to. A name that leads to loopback is a domain name too: the
 * document says nothing of the address behind it, and a receiver under test has no other.
 */
export function undeliverable(address: string): UndeliverableReason | undefined {
  const url = URL.parse(address);
  // What can't be read as an address is left to the attempt, which fails.
  if (!url) return undefined;
  if (url.protocol !== 'https:') return 'url_not_https';
  return isAddressLiteral(url.hostname) ? 'url_is_address' : undefined;
}
