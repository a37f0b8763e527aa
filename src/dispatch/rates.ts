import type { Clock } from '../kit/clock.ts';
import { messageOf } from '../kit/error-text.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { HandlerStore } from '../store/handler-store.ts';
import { maxReservedAhead, storePause } from '../store/timeouts.ts';
import type { HandlerLanes } from './lanes.ts';
import type { Loop } from './in-flight.ts';

/** How long an unused slot stays valid at least, in milliseconds. If its handler's gap is longer, that counts. */
const minUse = 100;
/** The time that slots reserved at once may span, in milliseconds: other processes need some, too. */
const maxReservedAtOnce = 1_000;

interface RatesParts {
  readonly store: { readonly handlers: Pick<HandlerStore, 'reserveStarts'> };
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly loop: Loop;
}

/**
 * Lets the attempts of a handler begin no faster than its `rate`, in all processes together. Each begins in a slot. The
 * inbox gives out slots with a gap between them, a few at a time, because a write for each attempt would be too many.
 * An unused slot lapses, or a handler that was held up would begin many attempts at once afterwards.
 */
export class Rates {
  readonly #parts: RatesParts;
  /** The times of each handler's slots, by the monotonic clock. */
  readonly #slots = new Map<string, number[]>();
  /** The handlers that will be tried again, each with the function that cancels this and, once known, the time. */
  readonly #waiting = new Map<string, { readonly cancel: () => void; readonly at?: number }>();

  constructor(parts: RatesParts) {
    this.#parts = parts;
  }

  /**
   * Whether a run of a handler may begin now, `gap` milliseconds after the one before it. If not, `beginReady` is called
   * when one may, or to try again.
   */
  mayBegin({ handler: { name }, readyWithSlot }: HandlerLanes, { gap }: { readonly gap: number }): boolean {
    if (readyWithSlot === 0) return false;
    const now = this.#parts.clock.elapsed();
    const lapsed = now - Math.max(gap, minUse);
    const slots = (this.#slots.get(name) ?? []).filter((slot) => slot > lapsed);
    this.#slots.set(name, slots);
    const [next] = slots;
    if (next !== undefined && next <= now) return true;
    if (this.#waiting.has(name)) return false;
    if (next === undefined) this.#reserve(name, gap, readyWithSlot);
    else this.#wait(name, next - now);
    return false;
  }

  /** Call it when a run of the handler begins: it uses up a slot. */
  began({ handler: { name } }: HandlerLanes): void {
    this.#slots.get(name)?.shift();
  }

  /** Milliseconds until the first handler that waits for its rate is tried again. */
  get nextIn(): number | undefined {
    const times = [...this.#waiting.values()].flatMap(({ at }) => at ?? []);
    return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - this.#parts.clock.elapsed());
  }

  /** Cancels all waiting. */
  stop(): void {
    for (const { cancel } of this.#waiting.values()) cancel();
    this.#waiting.clear();
  }

  #wait(name: string, delay: number): void {
    const { clock, loop } = this.#parts;
    const cancel = clock.after(delay, () => {
      this.#waiting.delete(name);
      loop.beginReady();
    });
    this.#waiting.set(name, { cancel, at: clock.elapsed() + delay });
  }

  #reserve(name: string, gap: number, wanted: number): void {
    const { store, clock, telemetry, loop } = this.#parts;
    const count = Math.max(1, Math.min(wanted, Math.floor(maxReservedAtOnce / gap)));
    this.#waiting.set(name, { cancel: () => {} });
    const take = (delay: number): void => {
      if (delay > maxReservedAhead) return this.#wait(name, delay - maxReservedAhead);
      const first = clock.elapsed() + delay;
      this.#slots.set(
        name,
        Array.from({ length: count }, (_, index) => first + index * gap),
      );
      this.#waiting.delete(name);
      loop.beginReady();
    };
    const fail = (error: unknown): void => {
      telemetry.report('dispatch_failed', { cause: messageOf(error) });
      this.#wait(name, storePause);
    };
    loop.inFlight.track(store.handlers.reserveStarts({ handler: name, count, gap }).then(take, fail));
  }
}
