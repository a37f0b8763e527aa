import type { Layout } from '../../model.ts';
import { sign } from '../../signature/sign.ts';
import type { SandboxEvent, Subscription } from '../model.ts';

/** One HTTP request, ready to be sent. */
export interface DeliveryRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** How a request is made, where it isn't the ordinary way. */
export interface RequestParts {
  readonly layout: Layout;
  /** When it is sent, in milliseconds since 1970. */
  readonly now: number;
  /** What to sign with. @default the subscription's own */
  readonly secrets?: readonly string[];
  /** What to sign. @default the event's body */
  readonly signedBody?: Uint8Array;
}

/** Would tell the receiver where the body ends in another way than the body does. */
const framingHeaders = new Set(['connection', 'content-length', 'transfer-encoding']);

/**
 * The request of one attempt: the subscription's own headers, those that the service sets, and the signature (platform
 * document, Delivery request). `X-Webhook-Timestamp` is the attempt's time, which a signature may be over: a receiver
 * would refuse a retry with the event's own time as too old.
 */
export function requestOf(
  event: SandboxEvent,
  subscription: Subscription,
  parts: RequestParts,
): DeliveryRequest {
  const { body, traceId, eventName } = event;
  const { layout, now, secrets = secretsOf(subscription, now), signedBody = body } = parts;
  const headers = {
    ...ownHeaders(subscription),
    'content-type': 'application/json',
    'content-length': String(body.byteLength),
    'x-webhook-event': eventName,
    'x-webhook-traceid': traceId,
    'x-webhook-timestamp': new Date(now).toISOString(),
    ...(secrets.length > 0 && sign(signedBody, { secrets, layout, traceId, timestamp: now })),
  };
  return { url: subscription.url, headers, body };
}

/** The present secret, and for 72 hours after a rotation the one before as well; none while unsigned. */
function secretsOf({ secret, previousSecret }: Subscription, now: number): readonly string[] {
  if (secret === undefined) return [];
  return previousSecret && previousSecret.expiresAt > now ? [secret, previousSecret.secret] : [secret];
}

function ownHeaders({ headers = {} }: Subscription): Record<string, string> {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(named.filter(([name]) => !framingHeaders.has(name)));
}
