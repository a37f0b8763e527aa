/** What ends an attempt early, and whether it blocks the event loop meanwhile. */
import type { Clock } from '../kit/clock.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { Run } from './run.ts';

/** The end of an attempt by its deadline or a stop. Its signal is made only when it is read. */
export class EarlyEnd {
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #onReached: (reason: Error) => void = () => {};
  #reached: Promise<never> | undefined;

  get isReached(): boolean {
    return this.#reason !== undefined;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#reason) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  reach(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    this.#onReached(reason);
  }

  /** Rejects when the early end is reached. */
  reached(): Promise<never> {
    this.#reached ??= new Promise((_resolve, reject) => {
      if (this.#reason) reject(this.#reason);
      else this.#onReached = reject;
    });
    return this.#reached;
  }
}

/** What may end an attempt early. */
interface Limits {
  /** Milliseconds. */
  readonly timeout: number;
  /** Aborted when a stop interrupts active runs. */
  readonly stop: AbortSignal;
  readonly clock: Clock;
}

const pending = Symbol('pending');

/** Waits for what the user's function returned. Rejects at the deadline or the stop, while the function may go on. */
export async function untilEnd(
  work: Promise<unknown>,
  end: EarlyEnd,
  { timeout, stop, clock }: Limits,
): Promise<unknown> {
  const cancelDeadline = clock.after(timeout, () => end.reach(new Error('deadline')));
  // Not AbortSignal.any: its signal would live as long as the receiver's, which outlives every run.
  const interrupt = () => end.reach(new Error('the receiver is stopping'));
  try {
    // A function that ended at once needs no listener.
    const result = await Promise.race([work, Promise.resolve(pending)]);
    if (result !== pending) return result;
    stop.addEventListener('abort', interrupt);
    if (stop.aborted) interrupt();
    return await Promise.race([work, end.reached()]);
  } finally {
    cancelDeadline();
    stop.removeEventListener('abort', interrupt);
  }
}

/**
 * How long a handler may block the event loop before that is reported, in milliseconds: a quarter of the second that
 * the platform waits. Deliveries that come meanwhile must be verified, stored and answered in the rest of it.
 */
const maxWithoutPause = 250;

/** Logs if the user's code, called at `calledAt`, blocked the event loop: otherwise only lost deliveries show that. */
export function reportIfBlocking(
  { clock, telemetry }: { readonly clock: Clock; readonly telemetry: Telemetry },
  { claimed: { traceId, handler } }: Run,
  calledAt: number,
): void {
  const duration = clock.elapsed() - calledAt;
  if (duration < maxWithoutPause) return;
  telemetry.report('handler_blocking', { traceId, handler, duration: Math.round(duration) });
}
