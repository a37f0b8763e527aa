import type { Layout } from '../../model.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Attempt, SandboxEvent, Subscription } from '../model.ts';
import type { Adversary, Disturbance } from './adversary.ts';
import type { Attempts } from './attempts.ts';
import { requestOf } from './request.ts';
import type { Sender } from './sender.ts';

/** What attempts are made with. */
export interface AttemptSenderParts {
  readonly sender: Sender;
  readonly attempts: Attempts;
  readonly layout: Layout;
  readonly clock: Clock;
  /** Undefined when nobody makes trouble. */
  readonly adversary: Adversary | undefined;
  /** What was broken off by a stop is no attempt: it is made again after the next start. */
  readonly isStopping: () => boolean;
}

/** One attempt to be made. */
export interface AttemptOrder {
  readonly event: SandboxEvent;
  readonly subscription: Subscription;
  /** Counted from 1. */
  readonly number: number;
}

/** One request of an attempt, and how it differs from the genuine one. */
interface Variation {
  readonly disturbance?: Disturbance | undefined;
  readonly body?: Uint8Array;
  readonly secrets?: readonly string[];
  readonly traceId?: string;
}

/** Makes attempts: the genuine request, and what the adversary sends beside it. Each is taken down. */
export class AttemptSender {
  readonly #parts: AttemptSenderParts;

  constructor(parts: AttemptSenderParts) {
    this.#parts = parts;
  }

  /** Makes an attempt, and resolves to the genuine one; undefined when a stop has broken it off. */
  async make(order: AttemptOrder): Promise<Attempt | undefined> {
    const disturbance = this.#parts.adversary?.decide(order.event.traceId, order.number);
    const forgery = disturbance && this.#forgery(order, disturbance);
    // One after the other: the forged one shall not be lost in a crowd, but come first.
    if (forgery) await this.#send(order, forgery);
    const isOwn = disturbance === 'delayed' || disturbance === 'dropped';
    const genuine = this.#send(order, isOwn ? { disturbance } : {});
    if (disturbance === 'duplicated') await this.#send(order, { disturbance });
    return genuine;
  }

  /** What a receiver must refuse or set aside. An unsigned delivery can't be told from a forged one, so none is sent. */
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
        return { disturbance, secrets: [isPast ? previousSecret.secret : adversary.strangeSecret()] };
      }
      case 'rubbish':
        // Under a trace id of its own: the event's would say that the rubbish is the event.
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
    const { sender, attempts, layout, clock, isStopping } = this.#parts;
    const { disturbance, secrets, ...changes } = variation;
    const request = requestOf({ ...event, ...changes }, subscription, {
      layout,
      now: clock.now(),
      // Signed before the body is changed: that is what tampering is.
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

/** Which answers count is not documented: here every 2xx does. Redirects are not followed. */
function isDelivered(status: number | undefined): boolean {
  return status !== undefined && status >= 200 && status <= 299;
}
