import { type Clock, pause } from '../../../kit/clock.ts';
import { Semaphore } from '../../../kit/limiters.ts';
import type { QueuedRecording } from './record-queue.ts';

/**
 * The error when a reconciled event can't be recorded now, because deliveries are being recorded. Nothing was written.
 */
export class DeliveriesGoOn extends Error {
  constructor() {
    super('others went on recording deliveries, so that no reconciled event could be recorded');
  }
}

/**
 * How long to wait before each further try, in milliseconds. In all, long enough that a process lost while it recorded
 * is taken for dead, and its transaction ended.
 */
const pauses = [50, 100, 200, 400, 800, 1_600, 3_200, 6_400];

/**
 * Records reconciled events one at a time, and tries again later while deliveries keep one from being recorded. Between
 * two tries it holds neither a connection nor a place in the queue.
 */
export class Reconciling {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #one = new Semaphore(1);

  /** Once `signal` is aborted, nothing is tried again. */
  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** `attempt` is called for each try. */
  add(attempt: () => QueuedRecording): QueuedRecording {
    const begun = this.#one.run(() => this.#tried(attempt));
    return {
      inTime: begun.then(({ inTime }) => inTime),
      recorded: begun.then(({ recorded }) => recorded),
    };
  }

  /** The first try that no delivery was in the way of, or the last one. Never rejects. */
  async #tried(attempt: () => QueuedRecording): Promise<QueuedRecording> {
    for (const ms of pauses) {
      const tried = attempt();
      if (this.#signal.aborted || !(await isInTheWay(tried))) return tried;
      await pause(this.#clock, ms, this.#signal);
    }
    return attempt();
  }
}

function isInTheWay({ inTime }: QueuedRecording): Promise<boolean> {
  return inTime.then(
    () => false,
    (error: unknown) => error instanceof DeliveriesGoOn,
  );
}
