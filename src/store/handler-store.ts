/** The part of the store that says which handlers are paused, what waits for each, and which processes have them. */

/** A handler that no process runs until it is resumed. */
export interface HandlerPause {
  readonly handler: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly by: string | undefined;
  readonly reason: string | undefined;
}

/** How many stored runs a handler has that are not done. Of all handlers together, a hundred thousand of each state are counted. */
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
  /** The handlers that it has announced. */
  readonly handlers: readonly string[];
  /** Whether it is the one that asks. */
  readonly isThis: boolean;
}

/** When the attempts of a handler with a rate may begin: one after the other, with a gap between them. */
export interface StartSlots {
  readonly handler: string;
  readonly count: number;
  /** From one to the next, in milliseconds. */
  readonly gap: number;
}

/** Pauses are durable, and hold for every process that shares the store; so do rates. */
export interface HandlerStore {
  /** Pauses a handler. Resolves to the pause that holds: that of the first who paused it. */
  pause(pause: HandlerPause): Promise<HandlerPause>;
  /** Ends a pause. Resolves to whether there was one. */
  resume(handler: string): Promise<boolean>;
  /** Removes from a pause who asked for it, and why. */
  erasePause(handler: string): Promise<void>;
  /** Every pause, by handler. */
  paused(): Promise<readonly HandlerPause[]>;
  /**
   * Reserves the next slots of a handler, which no other process gets. Resolves to the milliseconds until the first. If these
   * are more than `maxReservedAhead`, none is reserved: who asks may have ended by then. A wall clock that is set back delays them
   * by no more than `maxDelay`.
   */
  reserveStarts(slots: StartSlots): Promise<number>;
  /** By handler; those for which nothing waits and nothing is dead are left out. */
  runs(): Promise<readonly HandlerRuns[]>;
  /** By id. */
  processes(): Promise<readonly LivingProcess[]>;
}
