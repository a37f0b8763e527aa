import type { CallEvent } from '../events/model.ts';
import type { ClaimedRun } from '../store/claims.ts';
import type { RunState } from '../store/store.ts';
import type { Handler } from './handler.ts';

/** A handler's own copy of the event, or why its stored bytes can't be read any more. */
export type OwnEvent = CallEvent | { readonly unreadable: string };

/** One handler's work on one event, claimed by this process. */
export interface Run {
  readonly handler: Handler;
  readonly claimed: ClaimedRun;
  /**
   * Returns the handler's own copy of the event: for the first handler of an event that was just read, that reading;
   * else the event is read now.
   */
  readonly event: () => OwnEvent | Promise<OwnEvent>;
}

/** The state of a run after an attempt, for the store and the log. */
export interface Conclusion {
  readonly state: RunState;
  /** How many attempts have counted, this one included if it counts. */
  readonly attempts: number;
  /** Why the run isn't done, as one word that is safe to log. */
  readonly cause: string | undefined;
  /** Where in the user's own files the error was thrown. */
  readonly location?: string | undefined;
  /** Why the stored event can't be read, as one word. */
  readonly unreadable?: string | undefined;
}
