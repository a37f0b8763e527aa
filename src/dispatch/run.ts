import type { CallEvent } from '../events/model.ts';
import type { ClaimedRun } from '../store/claims.ts';
import type { Handler } from './handler.ts';

/** A handler's own copy of the event, or why its stored bytes can't be read any more. */
export type OwnEvent = CallEvent | { readonly unreadable: string };

/** One handler's work on one event, claimed by this process. */
export interface Run {
  readonly handler: Handler;
  readonly claimed: ClaimedRun;
  /**
   * Returns the handler's own copy of the event. The first handler of an event that was just read gets that reading;
   * otherwise the event is read now.
   */
  readonly event: () => OwnEvent | Promise<OwnEvent>;
}
