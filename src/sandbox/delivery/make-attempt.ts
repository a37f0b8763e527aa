import type { Clock } from '../../kit/clock.ts';
import type { Scheme } from '../../events/model.ts';
import type { Attempt, SandboxEvent, Subscription } from '../model.ts';
import type { Adversary, Disturbance } from './adversary.ts';
import type { Attempts } from './attempts.ts';
import { requestOf } from './request.ts';
import type { Sender } from './sender.ts';

interface AttemptParts {
  readonly sender: Sender;
  readonly attempts: Attempts;
  readonly scheme: Scheme;
  readonly clock: Clock;
  readonly adversary: Adversary | undefined;
  /** Whether the sandbox is stopping: an interrupted attempt doesn't count, and is repeated after the next start. */
  readonly isStopping: () => boolean;
}

interface AttemptOrder {
  readonly event: SandboxEvent;
  readonly subscription: Subscription;
  readonly number: number;
}

interface Variation {
  readonly disturbance?: Disturbance | undefined;
  readonly body?: Uint8Array;
  readonly secrets?: readonly string[];
  readonly traceId?: string;
}

/**
 * Makes an attempt: sends the genuine request and the adversary's requests, and records each. Resolves to the record of
 * the genuine request; undefined if a stop interrupted it.
 */
export async function makeAttempt(order: AttemptOrder, parts: AttemptParts): Promise<Attempt | undefined> {
  const disturbance = parts.adversary?.decide(order.event.traceId, order.number);
  const forgery = disturbance && forgeryOf(order, disturbance, parts);
  // The genuine request waits until the forged one has ended, so that the receiver always gets the forged one first.
  if (forgery) await send(order, forgery, parts);
  const isOwn = disturbance === 'delayed' || disturbance === 'dropped';
  const genuine = send(order, isOwn ? { disturbance } : {}, parts);
  if (disturbance === 'duplicated') await send(order, { disturbance }, parts);
  return genuine;
}

/** Undefined for a disturbance without a forgery, and for an unsigned subscription, whose receiver can't see one. */
function forgeryOf(
  { event, subscription, number }: AttemptOrder,
  disturbance: Disturbance,
  { adversary, clock }: AttemptParts,
): Variation | undefined {
  if (!adversary || subscription.secret === undefined) return undefined;
  const { traceId, body } = event;
  switch (disturbance) {
    case 'tampered':
      return { disturbance, body: adversary.tampered(body, traceId, number) };
    case 'wrong_secret': {
      const { previousSecret } = subscription;
      const isPast = previousSecret !== undefined && previousSecret.expiresAt <= clock.now();
      return { disturbance, secrets: [isPast ? previousSecret.secret : adversary.unknownSecret()] };
    }
    case 'rubbish':
      // With its own trace id: with the event's, the rubbish would claim to be that event.
      return {
        disturbance,
        body: adversary.rubbish(traceId, number),
        traceId: `${traceId}-rubbish-${number}`,
      };
    default:
      return undefined;
  }
}

async function send(
  { event, subscription, number }: AttemptOrder,
  { disturbance, secrets, ...changes }: Variation,
  { sender, attempts, scheme, clock, isStopping }: AttemptParts,
): Promise<Attempt | undefined> {
  const request = requestOf({ ...event, ...changes }, subscription, {
    scheme,
    now: clock.now(),
    // A tampered body is changed after signing.
    ...(disturbance === 'tampered' && { signedBody: event.body }),
    ...(secrets && { secrets }),
  });
  const result = await sender.send(request, {
    timeout: subscription.requestTimeoutMs,
    dropsAfterBody: disturbance === 'dropped',
  });
  if (isStopping()) return undefined;
  const { traceId, callId, eventName } = event;
  return attempts.record({
    subscriptionId: subscription.id,
    traceId,
    callId,
    eventName,
    number,
    ...result,
    isDelivered: isDelivered(result.status),
    disturbance,
  });
}

/** Which answers count as delivered is undocumented: here every 2xx does. Redirects are not followed. */
function isDelivered(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status <= 299;
}
