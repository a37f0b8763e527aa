/** The part of the store that computes calls and keeps joins. */
import type { CallEventRow, CallRecord, CallStatus } from '../calls/timeline.ts';
import type { ClaimedRun } from './claims.ts';
import type { Sequence } from './event-record.ts';

/** Selects calls. Times in milliseconds since 1970; `since` and `until` are about a call's first event. */
export interface CallFilter {
  readonly agentId?: string | undefined;
  readonly status?: CallStatus | undefined;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
  /** The cursor of the previous page. */
  readonly cursor?: string | undefined;
  /** Ends the search, which rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/** A page of calls, latest first, and where the next page begins. */
export interface CallPage {
  readonly calls: readonly CallRecord[];
  readonly cursor: string | undefined;
}

/** What a join's handler sees. */
export interface JoinView {
  readonly events: readonly CallEventRow[];
  /** Whether an earlier run of this join has already seen every event that is here, so that there is nothing to do. */
  readonly isSettled: boolean;
}

/** What a join remembers of a call. */
export interface KeptJoin {
  readonly handler: string;
  /** The names of the events that it waits for, as of the last one that it counted. */
  readonly events: readonly string[];
  /** Those of them that were missing then. */
  readonly missing: readonly string[];
  /** Those that were there when its last attempt began; undefined before its first. */
  readonly seen: readonly string[] | undefined;
}

/** Computes calls from their events, and keeps what joins wait for. */
export interface CallStore {
  /**
   * The events of a call, in order of arrival. `transaction`: what `settleWith` has given to its function, if that is
   * what asks. With a connection of its own for each, as many functions as there are connections would wait for one.
   */
  eventsOf(callId: string, transaction?: unknown): Promise<readonly CallEventRow[]>;
  list(filter: CallFilter): Promise<CallPage>;
  /** What joins remember of a call, in order of their names. */
  joinsOf(callId: string): Promise<readonly KeptJoin[]>;

  /**
   * What a join sees of the call as the attempt of its run begins. The store remembers it, to recognize a later event as
   * late. Resolves to undefined if the claim was lost: what a run that is not held sees counts for nothing.
   */
  noteSeen(run: ClaimedRun, events: readonly string[]): Promise<JoinView | undefined>;
  /**
   * Counts for the join the events that arrived since `since` and were claimed by a process in which it wasn't
   * registered. Looks at a bounded number of events, and resolves to where the next look begins, or to undefined at the
   * end.
   */
  lookBack(join: JoinLookBack): Promise<Sequence | undefined>;
}

/** What a join looks for among earlier events, when it is registered at a start. */
export interface JoinLookBack {
  readonly handler: string;
  readonly events: readonly string[];
  readonly within: number;
  readonly runsAgain: boolean;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** What the previous look resolved to. */
  readonly after: Sequence | undefined;
}
