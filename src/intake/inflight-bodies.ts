import type { Clock } from '../kit/clock.ts';
import { Refusal } from '../errors/refusals.ts';
import { Pool } from '../kit/churn.ts';
import { uncountedBytes } from '../receiver/options.ts';

/** How many bytes may be in flight. */
export interface InflightLimits {
  /** Bytes of all bodies in flight. */
  readonly inflight: number;
  /** Bytes of one body. */
  readonly body: number;
}

/** A sender with at least one counted body. */
interface Sender {
  readonly name: string;
  readonly bodies: Set<InflightBody>;
  /** The sum of their counted bytes. */
  counted: number;
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
  readonly #limits: InflightLimits;
  readonly #clock: Clock;
  readonly #senders = new Map<string, Sender>();
  #counted = 0;
  readonly #unanswered = new Pool<InflightBody>();
  #onDrained: (() => void)[] = [];

  constructor(limits: InflightLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Begins a body. `sender` is called only when bytes of the body count, which is rare. */
  begin(sender: () => string): InflightBody {
    const body = new InflightBody(this, sender, this.#clock.elapsed());
    body.leave = this.#unanswered.add(body);
    return body;
  }

  /**
   * Resolves when every delivery has been answered. Bodies that are unfinished after `timeout` milliseconds are
   * refused: otherwise anybody could delay a stop by `limits.bodyTimeout`.
   */
  async drained(timeout: number): Promise<void> {
    if (this.#unanswered.size === 0) return;
    const refuse = (): void => {
      for (const body of this.#unanswered.items) body.displace?.(new Refusal('unavailable', 'not_open'));
    };
    // A timeout of 0 uses no timer: a manual clock may never be advanced again.
    const cancel = timeout > 0 ? this.#clock.after(timeout, refuse) : refuse();
    await new Promise<void>((resolve) => this.#onDrained.push(resolve));
    cancel?.();
  }

  /** @internal @throws Refusal `unavailable` when there is no room, and none can be made for this body */
  count(body: InflightBody, bytes: number): void {
    const sender = (body.sender ??= this.#senderNamed(body.senderName()));
    sender.bodies.add(body);
    if (!this.#makeRoom(body, sender, bytes)) throw new Refusal('unavailable', 'inflight_full');
    body.counted += bytes;
    sender.counted += bytes;
    this.#counted += bytes;
  }

  /** @internal */
  end(body: InflightBody): void {
    this.#uncount(body);
    body.leave?.();
    if (this.#unanswered.size === 0) for (const resolve of this.#onDrained.splice(0)) resolve();
  }

  #uncount(body: InflightBody): void {
    const { sender, counted } = body;
    if (!sender) return;
    this.#counted -= counted;
    sender.counted -= counted;
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
    while (this.#counted + bytes > this.#limits.inflight) {
      const slowest = this.#slowestOf(this.#yielding(sender, bytes));
      if (slowest === undefined || slowest === body) return false;
      this.#uncount(slowest);
      slowest.displace?.(new Refusal('unavailable', 'displaced'));
    }
    return true;
  }

  /** The senders whose bodies may be refused to make room for a body of this sender. */
  #yielding(sender: Sender, bytes: number): readonly Sender[] {
    const { inflight, body } = this.#limits;
    // At least one body, or many addresses with a little each would leave too small a share for a large body.
    const share = Math.max(inflight / this.#senders.size, body);
    if (sender.counted + bytes > share) return [sender];
    const senders = [...this.#senders.values()];
    const over = senders.filter(({ counted }) => counted > share);
    return over.length > 0 ? over : senders;
  }

  #slowestOf(senders: readonly Sender[]): InflightBody | undefined {
    const now = this.#clock.elapsed();
    let slowest: InflightBody | undefined;
    let least = Infinity;
    for (const { bodies } of senders) {
      for (const body of bodies) {
        const speed = body.displace ? body.speed(now) : Infinity;
        if (speed < least) [slowest, least] = [body, speed];
      }
    }
    return slowest;
  }
}

/** The bytes that one delivery holds until it is answered. */
export class InflightBody {
  readonly #bodies: InflightBodies;
  readonly #begunAt: number;
  #received = 0;
  readonly senderName: () => string;
  sender: Sender | undefined;
  /** How many of its bytes are counted. */
  counted = 0;
  /** Takes it out of the unanswered ones. */
  leave: (() => void) | undefined;
  /** Refuses the body to make room for another. Set only while the body is unfinished. */
  displace: ((refusal: Refusal) => void) | undefined;

  constructor(bodies: InflightBodies, senderName: () => string, begunAt: number) {
    this.#bodies = bodies;
    this.senderName = senderName;
    this.#begunAt = begunAt;
  }

  /**
   * Counts received bytes.
   *
   * @throws Refusal `unavailable` when there is no room for them
   */
  grow(bytes: number): void {
    this.#received += bytes;
    const more = this.#received - uncountedBytes - this.counted;
    if (more > 0) this.#bodies.count(this, more);
  }

  /** Call it when the delivery has been answered. */
  release(): void {
    this.#bodies.end(this);
  }

  /** The mean speed since the body began, in bytes per millisecond. */
  speed(now: number): number {
    return this.#received / Math.max(1, now - this.#begunAt);
  }
}
