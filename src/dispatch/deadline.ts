import type { Clock } from '../kit/clock.ts';

/** The end of an attempt by its deadline or by a stop. Its signal is made when the user's function asks for it. */
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
export interface Limits {
  /** Milliseconds. */
  readonly timeout: number;
  /** Aborted when the receiver stops and will wait no longer. */
  readonly stop: AbortSignal;
  readonly clock: Clock;
}

/** Waits for what the user's function returns, until its deadline or the stop; rejects then, though the function goes on. */
export async function untilEnd(
  work: Promise<unknown>,
  end: EarlyEnd,
  { timeout, stop, clock }: Limits,
): Promise<unknown> {
  const cancelDeadline = clock.after(timeout, () => end.reach(new Error('deadline')));
  // Linked by hand: a signal made by AbortSignal.any lives as long as the receiver's, which outlives every run.
  const interrupt = () => end.reach(new Error('the receiver is stopping'));
  try {
    // A function that had nothing to wait for needs no interruption.
    if (await isOverAtOnce(work)) return await work;
    stop.addEventListener('abort', interrupt);
    if (stop.aborted) interrupt();
    return await Promise.race([work, end.reached()]);
  } finally {
    cancelDeadline();
    stop.removeEventListener('abort', interrupt);
  }
}

async function isOverAtOnce(work: Promise<unknown>): Promise<boolean> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  await Promise.resolve();
  return isOver;
}
