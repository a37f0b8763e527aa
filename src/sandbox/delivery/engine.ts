import type { Logger } from 'pino';
import type { Clock } from '../../kit/clock.ts';
import { messageOf } from '../../kit/error-text.ts';
import { Semaphore } from '../../kit/limiters.ts';
import type { Scheme } from '../../events/model.ts';
import type { BatchedWrites } from '../database.ts';
import type { SandboxEvent } from '../model.ts';
import type { Subscriptions } from '../subscriptions/subscriptions.ts';
import type { Adversary } from './adversary.ts';
import { makeAttempt } from './make-attempt.ts';
import type { Attempts } from './attempts.ts';
import { InFlight } from './in-flight.ts';
import type { ComingEvent, Outbox, PendingDelivery } from './outbox.ts';
import { Sender } from './sender.ts';
import { underOwnTraceId } from '../calls/event-bodies.ts';
import { type UndeliverableReason, undeliverable } from './request.ts';

interface DeliveryEngineParts {
  readonly clock: Clock;
  /** How many of the platform's milliseconds pass in a real one. Receivers answer in real time. */
  readonly speed: number;
  /** Read before every attempt, because the subscription may have changed. */
  readonly subscriptions: Pick<Subscriptions, 'find' | 'wanting'>;
  readonly outbox: Outbox;
  readonly attempts: Attempts;
  readonly writes: BatchedWrites;
  readonly scheme: Scheme;
  readonly adversary: Adversary | undefined;
  readonly strictDeliveries: boolean;
  readonly traceIds: 'delivery' | 'event';
  readonly logger: Logger;
}

const maxAttemptsAtOnce = 64;

/**
 * Delivers events to the subscriptions that ask for them: each attempt within `request_timeout_ms`, retries by the
 * `retry_policy`, nothing to inactive subscriptions (platform document, Delivery rules). Deliveries that are unsettled
 * when the sandbox stops continue at the next start.
 */
export class DeliveryEngine {
  readonly #parts: DeliveryEngineParts;
  readonly #sender: Sender;
  readonly #unsettled = new InFlight();
  readonly #limits = new Map<string, Semaphore>();
  readonly #timers = new Set<() => void>();
  readonly #attempts = new Set<Promise<void>>();
  #isStopping = false;

  constructor(parts: DeliveryEngineParts) {
    this.#parts = parts;
    this.#sender = new Sender(parts.clock);
  }

  /** Resumes the unsettled deliveries and future events of the last stop. */
  start(): void {
    const { outbox } = this.#parts;
    for (const delivery of outbox.pendingDeliveries()) this.#begin(delivery);
    for (const coming of outbox.comingEvents()) this.#await(coming);
  }

  /** Schedules an event. It is delivered to each subscription that asks for it when it happens. */
  schedule(coming: ComingEvent): void {
    this.#parts.outbox.add(coming);
    this.#await(coming);
  }

  /** Resolves when no more events are planned and every delivery is made or given up, or when the sandbox stops. */
  settled(): Promise<void> {
    return this.#unsettled.settled();
  }

  settledCall(callId: string): Promise<void> {
    return this.#unsettled.settledCall(callId);
  }

  /** Aborts the attempts in flight. Their deliveries stay in the database for the next start. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#sender.close();
    await Promise.all(this.#attempts);
    this.#parts.writes.end();
    this.#unsettled.end();
  }

  #await({ event, happensAt }: ComingEvent): void {
    this.#unsettled.enter(event.callId);
    this.#at(happensAt, () => this.#happen(event));
  }

  #happen(event: SandboxEvent): void {
    const { subscriptions, outbox, clock, traceIds } = this.#parts;
    const dueAt = clock.now();
    const deliveries = subscriptions.wanting(event).map(({ id }, index) => ({
      event: traceIds === 'delivery' ? underOwnTraceId(event, index) : event,
      subscriptionId: id,
      attempts: 0,
      dueAt,
    }));
    outbox.happened(event, deliveries);
    for (const delivery of deliveries) this.#begin(delivery);
    this.#unsettled.leave(event.callId);
  }

  #begin(delivery: PendingDelivery): void {
    this.#unsettled.enter(delivery.event.callId);
    this.#queue(delivery);
  }

  /** Makes the next attempt when it is due, the adversary's delay is over, and the subscription has a free slot. */
  #queue(delivery: PendingDelivery): void {
    const { adversary, speed } = this.#parts;
    const { traceId } = delivery.event;
    const number = delivery.attempts + 1;
    const isDelayed = adversary?.decide(traceId, number) === 'delayed';
    const delay = isDelayed ? adversary.delay(traceId, number) / speed : 0;
    const limit = this.#limitOf(delivery);
    this.#at(delivery.dueAt + delay, () => void limit.run(() => this.#follow(delivery)));
  }

  async #attempt(delivery: PendingDelivery): Promise<void> {
    const { event, subscriptionId } = delivery;
    const number = delivery.attempts + 1;
    const subscription = this.#parts.subscriptions.find(subscriptionId);
    // The subscription was paused or deleted after the event happened: no further attempts are made.
    if (!subscription?.active) return this.#settle(delivery, 'given_up');
    if (this.#parts.strictDeliveries) {
      const reason = undeliverable(subscription.url);
      if (reason !== undefined) return this.#settle(delivery, 'given_up', reason);
    }
    const sending = { ...this.#parts, sender: this.#sender, isStopping: () => this.#isStopping };
    const attempt = await makeAttempt({ event, subscription, number }, sending);
    if (!attempt) return;
    const { maxRetryAttempts, maxRetryDelayMs } = subscription.retryPolicy;
    if (attempt.isDelivered) this.#settle({ ...delivery, attempts: number }, 'delivered');
    else if (number > maxRetryAttempts) this.#settle({ ...delivery, attempts: number }, 'given_up');
    else this.#postpone({ ...delivery, attempts: number }, maxRetryDelayMs);
  }

  #postpone(delivery: PendingDelivery, delay: number): void {
    const { outbox, clock, speed } = this.#parts;
    const postponed = { ...delivery, dueAt: clock.now() + delay / speed };
    outbox.update(postponed, 'due');
    this.#queue(postponed);
  }

  /** @param reason why the platform would not attempt the delivery, for the log */
  #settle(delivery: PendingDelivery, state: 'delivered' | 'given_up', reason?: UndeliverableReason): void {
    const { traceId, callId, eventName } = delivery.event;
    this.#parts.outbox.update(delivery, state);
    this.#unsettled.leave(callId);
    if (state === 'delivered') return;
    const { attempts, subscriptionId } = delivery;
    this.#parts.logger.warn(
      { event: 'delivery_given_up', traceId, callId, eventName, subscriptionId, attempts, reason },
      'a delivery was given up',
    );
  }

  /** Each subscription has its own limit, so that a slow or dead receiver doesn't delay the others. */
  #limitOf({ subscriptionId }: PendingDelivery): Semaphore {
    const limit = this.#limits.get(subscriptionId) ?? new Semaphore(maxAttemptsAtOnce);
    this.#limits.set(subscriptionId, limit);
    return limit;
  }

  /** Makes an attempt. Never rejects: after an unexpected error, the delivery is given up and its slot freed. */
  async #follow(delivery: PendingDelivery): Promise<void> {
    if (this.#isStopping) return;
    const attempt = this.#attempt(delivery).catch((error: unknown) => {
      this.#parts.logger.error({ event: 'delivery_failed', cause: messageOf(error) }, 'a delivery failed');
      this.#settle(delivery, 'given_up');
    });
    this.#attempts.add(attempt);
    await attempt;
    this.#attempts.delete(attempt);
  }

  /** Calls `action` at a real time, in milliseconds since 1970, unless the sandbox has stopped by then. */
  #at(time: number, action: () => void): void {
    if (this.#isStopping) return;
    const { clock } = this.#parts;
    const cancel = clock.after(time - clock.now(), () => {
      this.#timers.delete(cancel);
      action();
    });
    this.#timers.add(cancel);
  }
}
