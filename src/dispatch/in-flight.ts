import { messageOf } from '../kit/error-text.ts';
import { refProcess } from '../kit/clock.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

/** How the parts of dispatch call the dispatcher, whose loop takes events from the inbox to their handlers. */
export interface Loop {
  /** What a stop waits for. */
  readonly inFlight: InFlight;
  /** Begins the runs that may begin. Call it when something has become free that runs wait for. */
  beginReady(): void;
  /** Begins what may begin, and claims more if there is room. Call it when something has been placed or has ended. */
  advance(): void;
  /** Looks for work. Call it when there may be new due runs in the inbox. */
  wake(): void;
}

/** The work in flight, so that a stop can wait for it. */
export class InFlight {
  readonly #telemetry: Telemetry;
  #count = 0;
  #idle: (() => void)[] = [];

  constructor(telemetry: Telemetry) {
    this.#telemetry = telemetry;
  }

  /** Counts work until it ends, and logs its error. */
  track(work: Promise<unknown>): void {
    this.#count += 1;
    work.then(this.#ended, (error: unknown) => {
      this.#ended();
      this.#telemetry.report('dispatch_failed', { cause: messageOf(error) });
    });
  }

  readonly #ended = (): void => {
    this.#count -= 1;
    if (this.#count === 0) for (const resolve of this.#idle.splice(0)) resolve();
  };

  /** Resolves when all work has ended. */
  async drained(): Promise<void> {
    if (this.#count === 0) return;
    // Keeps the process alive while a run waits for nothing but its signal.
    const unref = refProcess();
    await new Promise<void>((resolve) => this.#idle.push(resolve));
    unref();
  }
}
