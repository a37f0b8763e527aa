import type { Clock } from '../../kit/clock.ts';
import type { Scheme } from '../../events/model.ts';
import type { Attempt, SandboxEvent, Subscription } from '../model.ts';
import type { Adversary, Disturbance } from './adversary.ts';
import type { Attempts } from './attempts.ts';
import { requestOf } from './request.ts';
import type { Sender } from './sender.ts';

interface AttemptSenderParts {
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

/** Makes attempts: sends the genuine request and the adversary's requests, and records each. */
export class AttemptSender {
  readonly #parts: AttemptSenderParts;

  constructor(parts: AttemptSenderParts) {
    this.#parts = parts;
  }

  /** Makes an attempt. Resolves to the record of the genuine request; undefined if a stop interrupted it. */
  async make(order: AttemptOrder): Promise<Attempt | undefined> {
    const disturbance = this.#parts.adversary?.decide(order.event.traceId, order.number);
    const forgery = disturbance && this.#forgery(order, disturbance);
    // The genuine request waits until the forged one has ended, so that the receiver always gets the forged one first.
    if (forgery) await this.#send(order, forgery);
    const isOwn = disturbance === 'delayed' || disturbance === 'dropped';
    const genuine = this.#send(order, isOwn ? { disturbance } : {});
    if (disturbance === 'duplicated') await this.#send(order, { disturbance });
    return genuine;
  }

  /** Undefined for a disturbance without a forgery, and for an unsigned subscription, whose receiver can't see one. */
  #forgery({ event, subscription, number }: AttemptOrder, disturbance: Disturbance): Variation | undefined {
    const { adversary, clock } = this.#parts;
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

  async #send(
    { event, subscription, number }: AttemptOrder,
    variation: Variation,
  ): Promise<Attempt | undefined> {
    const { sender, attempts, scheme, clock, isStopping } = this.#parts;
    const { disturbance, secrets, ...changes } = variation;
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
}

/** Which answers count as delivered is undocumented: here every 2xx does. Redirects are not followed. */
function isDelivered(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status <= 299;
}
