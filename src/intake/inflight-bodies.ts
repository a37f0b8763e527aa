import { type Clock, atOnceOrAfter } from '../kit/clock.ts';
import { Refusal } from '../errors/refusals.ts';
import { SlotSet } from '../kit/collections.ts';
import type { Delivery } from '../events/model.ts';
import { uncountedBytes } from '../receiver/options.ts';

/** How many bytes may be in flight. */
export interface InflightLimits {
  /** Bytes of all bodies in flight. */
  readonly inflight: number;
  /** Bytes of one body. */
  readonly body: number;
}

interface InflightParts {
  readonly limits: InflightLimits;
  readonly clock: Clock;
  /** Names the sender of a delivery. Called only when bytes of its body count, which is rare. */
  readonly senderOf: (delivery: Delivery) => string;
}

/** A sender with at least one counted body. */
interface Sender {
  readonly name: string;
  readonly bodies: Set<InflightBody>;
  /** The sum of their counted bytes. */
  counted: number;
}

/** The body of one delivery. Only `InflightBodies` changes it. */
export interface InflightBody {
  readonly delivery: Delivery;
  readonly begunAt: number;
  received: number;
  /** Set once its bytes count. */
  sender: Sender | undefined;
  /** How many of its bytes are counted. */
  counted: number;
  /** Refuses the body to make room for another. Set only while the body is unfinished. */
  displace: ((refusal: Refusal) => void) | undefined;
}

/**
 * The bodies of the deliveries that have not been answered. Bounds their bytes, so that many slow or large bodies at
 * once can't exhaust the process's memory. When there is no room, the slowest unfinished body is refused. A sender of
 * endless bodies must therefore keep up with the genuine ones, instead of holding all room until `bodyTimeout`.
 *
 * When all room is taken, a sender above its share gets more only at the expense of its own bodies, and others get
 * theirs at the expense of such senders. While there is room, shares don't matter: the platform may send many large
 * bodies at once from one address.
 */
export class InflightBodies {
  readonly #parts: InflightParts;
  readonly #senders = new Map<string, Sender>();
  #counted = 0;
  /** How many deliveries have not been answered. */
  #unanswered = 0;
  /** The bodies that are waited for: most arrive at once. */
  readonly #unfinished = new SlotSet<InflightBody>();
  #onDrained: (() => void)[] = [];

  constructor(parts: InflightParts) {
    this.#parts = parts;
  }

  /** Begins the body of a delivery. */
  begin(delivery: Delivery, begunAt: number): InflightBody {
    this.#unanswered += 1;
    return { delivery, begunAt, received: 0, sender: undefined, counted: 0, displace: undefined };
  }

  /**
   * Resolves when every delivery has been answered. Bodies that are unfinished after `timeout` milliseconds are
   * refused: otherwise anybody could delay a stop by `limits.bodyTimeout`.
   */
  async drained(timeout: number): Promise<void> {
    if (this.#unanswered === 0) return;
    const refuse = (): void => {
      for (const body of this.#unfinished.items) body.displace?.(new Refusal('unavailable', 'not_open'));
    };
    const cancel = atOnceOrAfter(this.#parts.clock, timeout, refuse);
    await new Promise<void>((resolve) => this.#onDrained.push(resolve));
    cancel();
  }

  /**
   * Counts received bytes of a body.
   *
   * @throws Refusal `unavailable` when there is no room for them
   */
  grow(body: InflightBody, bytes: number): void {
    body.received += bytes;
    const more = body.received - uncountedBytes - body.counted;
    if (more > 0) this.#count(body, more);
  }

  /** Waits for the rest of a body: `refuse` may be called until the returned function is. */
  waitFor(body: InflightBody, refuse: (refusal: Refusal) => void): () => void {
    body.displace = refuse;
    const leave = this.#unfinished.add(body);
    return () => {
      body.displace = undefined;
      leave();
    };
  }

  /** @throws Refusal `unavailable` when there is no room, and none can be made for this body */
  #count(body: InflightBody, bytes: number): void {
    const sender = (body.sender ??= this.#senderNamed(this.#parts.senderOf(body.delivery)));
    sender.bodies.add(body);
    if (!this.#makeRoom(body, sender, bytes)) throw new Refusal('unavailable', 'inflight_full');
    body.counted += bytes;
    sender.counted += bytes;
    this.#counted += bytes;
  }

  /** Ends a body: its delivery has been answered. */
  end(body: InflightBody): void {
    if (body.sender) this.#uncount(body, body.sender);
    this.#unanswered -= 1;
    if (this.#unanswered === 0) for (const resolve of this.#onDrained.splice(0)) resolve();
  }

  #uncount(body: InflightBody, sender: Sender): void {
    this.#counted -= body.counted;
    sender.counted -= body.counted;
    body.counted = 0;
    body.sender = undefined;
    sender.bodies.delete(body);
    if (sender.bodies.size === 0) this.#senders.delete(sender.name);
  }

  #senderNamed(name: string): Sender {
    const sender = this.#senders.get(name) ?? { name, bodies: new Set(), counted: 0 };
    this.#senders.set(name, sender);
    return sender;
  }

  /** False when this body is the slowest itself, or no body is unfinished. */
  #makeRoom(body: InflightBody, sender: Sender, bytes: number): boolean {
    while (this.#counted + bytes > this.#parts.limits.inflight) {
      const slowest = this.#slowestOf(this.#yielding(sender, bytes));
      if (slowest?.sender === undefined || slowest === body) return false;
      this.#uncount(slowest, slowest.sender);
      slowest.displace?.(new Refusal('unavailable', 'displaced'));
    }
    return true;
  }

  /** The senders whose bodies may be refused to make room for a body of this sender. */
  #yielding(sender: Sender, bytes: number): readonly Sender[] {
    const { inflight, body } = this.#parts.limits;
    // At least one body, or many addresses with a little each would leave too small a share for a large body.
    const share = Math.max(inflight / this.#senders.size, body);
    if (sender.counted + bytes > share) return [sender];
    const senders = [...this.#senders.values()];
    const over = senders.filter(({ counted }) => counted > share);
    return over.length > 0 ? over : senders;
  }

  #slowestOf(senders: readonly Sender[]): InflightBody | undefined {
    const now = this.#parts.clock.elapsed();
    let slowest: InflightBody | undefined;
    let least = Infinity;
    for (const { bodies } of senders) {
      for (const body of bodies) {
        // The mean speed since the body began, in bytes per millisecond.
        const speed = body.displace ? body.received / Math.max(1, now - body.begunAt) : Infinity;
        if (speed < least) [slowest, least] = [body, speed];
      }
    }
    return slowest;
  }
}
