/** The part of the store that keeps pauses and rates of handlers, what waits for each, and which processes have them. */

/** A paused handler: no process runs it until it is resumed. */
export interface HandlerPause {
  readonly handler: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly by: string | undefined;
  readonly reason: string | undefined;
}

/** How many stored runs of a handler are not done. Each state is counted up to a hundred thousand for all handlers. */
export interface HandlerRuns {
  readonly handler: string;
  readonly due: number;
  readonly running: number;
  readonly blocked: number;
  readonly dead: number;
}

/** A process that shares the store and is not known to be dead. */
export interface LivingProcess {
  readonly id: number;
  /** The name of its machine, and its number there. These two and `enteredAt` are undefined if it had to enter again. */
  readonly host: string | undefined;
  readonly pid: number | undefined;
  /** When it entered, in milliseconds since 1970. */
  readonly enteredAt: number | undefined;
  /** When it last wrote that it lives; undefined if the store counts heartbeats without their times. */
  readonly heartbeatAt: number | undefined;
  /** The handlers that it has announced. */
  readonly handlers: readonly string[];
  /** Whether it is the process that asks. */
  readonly isThis: boolean;
}

/** Start times to reserve for the attempts of a handler with a rate. */
export interface StartSlots {
  readonly handler: string;
  readonly count: number;
  /** The time between two starts, in milliseconds. */
  readonly gap: number;
}

/** Pauses and rates are durable, and hold for every process that shares the store. */
export interface HandlerStore {
  /** Pauses a handler. Resolves to the pause in force, which may be an earlier one. */
  pause(pause: HandlerPause): Promise<HandlerPause>;
  /** Ends a pause. Resolves to whether there was one. */
  resume(handler: string): Promise<boolean>;
  /** Removes from a pause who requested it, and why. */
  erasePause(handler: string): Promise<void>;
  /** Every pause, by handler. */
  paused(): Promise<readonly HandlerPause[]>;
  /**
   * Reserves the next slots of a handler for this process alone. Resolves to the milliseconds until the first slot. If
   * that is more than `maxReservedAhead`, nothing is reserved, because the caller may have ended by then. A wall clock
   * that is set back delays slots by no more than `maxDelay`.
   */
  reserveStarts(slots: StartSlots): Promise<number>;
  /** Ordered by handler; handlers whose runs are all done are left out. */
  runs(): Promise<readonly HandlerRuns[]>;
  /** Ordered by id. */
  processes(): Promise<readonly LivingProcess[]>;
}
