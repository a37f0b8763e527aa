/** The part of the store that tells calls and keeps joins. */
import type { CallEventRow, CallRecord, CallStatus } from '../calls/timeline.ts';
import type { RunKey, Sequence, Settled } from './run-key.ts';

/** Which calls. Times in milliseconds since 1970; `since` and `until` are about a call's first event. */
export interface CallFilter {
  readonly agentId?: string | undefined;
  readonly status?: CallStatus | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
  /** What the page before gave. */
  readonly cursor?: string | undefined;
}

/** Some of the calls, latest first, and where the next page begins. */
export interface CallPage {
  readonly calls: readonly CallRecord[];
  readonly cursor: string | undefined;
}

/** An event of a join has been claimed. */
export interface JoinArrival {
  readonly run: RunKey & { readonly callId: string };
  readonly eventName: string;
  /** The names that the join waits for. */
  readonly events: readonly string[];
  /** How long it waits after the first of them, in milliseconds. */
  readonly within: number;
  /** Whether an event that comes after the join was called makes it run again, once. */
  readonly runsAgain: boolean;
  /** Whether no sibling without a row is left in this process: the claim on the event ends. */
  readonly last: boolean;
}

/** What a join's handler gets to see. */
export interface JoinView {
  readonly events: readonly CallEventRow[];
  /** Whether an earlier run of this join has seen every event that is here now: there is nothing to do. */
  readonly isSettled: boolean;
}

/** Tells calls from their events, and keeps what joins wait for. */
export interface CallStore {
  /** The events of a call, in order of arrival. */
  eventsOf(callId: string): Promise<readonly CallEventRow[]>;
  list(filter: CallFilter): Promise<CallPage>;

  /** Opens the join for the call, makes it due when nothing is missing, or runs it again for a late event. */
  arrive(arrival: JoinArrival): Promise<Settled>;
  /** What is there of the call as the join's attempt begins; remembered, so that a late event is known as late. */
  see(handler: string, callId: string, events: readonly string[]): Promise<JoinView>;
  /**
   * Opens the join for calls whose events arrived since `since` and were claimed where it wasn't registered. Looks
   * at a bounded number of events, and resolves to where the next look begins, or undefined at the end.
   */
  lookBack(join: JoinLookBack): Promise<Sequence | undefined>;
}

/** What a join registered at this start looks back on. */
export interface JoinLookBack {
  readonly handler: string;
  readonly events: readonly string[];
  readonly within: number;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** What the look before gave. */
  readonly after: Sequence | undefined;
}
