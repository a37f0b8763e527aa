/** The part of the store that shows events, counts their duplicates, requeues settled runs, and dismisses runs. */
import type { Order } from '../dispatch/handler.ts';
import type { EventSource, Headers } from '../events/model.ts';
import type { ProgressStep } from './audit-store.ts';
import type { KeptFailure } from './failure-store.ts';
import type { Sequence } from './event-record.ts';

/** `new`: it waits to be claimed, or is claimed. `open`: only stored runs are unsettled. `done`: every run is settled. */
export type EventState = 'new' | 'open' | 'done';

/** A stored event with its body, as handlers get it. */
export interface StoredEvent {
  readonly sequence: Sequence;
  readonly traceId: string;
  readonly source: EventSource;
  readonly eventName: string;
  readonly callId: string | undefined;
  readonly receivedAt: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Selects events that meet every given condition. Times are times of arrival, in milliseconds since 1970. */
export interface EventFilter {
  readonly eventName?: string | undefined;
  readonly callId?: string | undefined;
  readonly agentId?: string | undefined;
  /** `dead`: the event has a dead letter (of `handler`, if that is given). */
  readonly state?: EventState | 'dead' | undefined;
  /** The event has a stored run of this handler. Most runs that succeed at the first attempt are not stored. */
  readonly handler?: string | undefined;
  readonly since?: number | undefined;
  /** Exclusive. */
  readonly until?: number | undefined;
  readonly traceId?: string | undefined;
  /** The id of a group of failures: the event has a run that failed like this and is not done. */
  readonly failure?: string | undefined;
}

/** A stored run of an event. Times in milliseconds since 1970. */
export interface KeptRun {
  readonly handler: string;
  readonly state: 'due' | 'running' | 'blocked' | 'done' | 'dead';
  readonly attempts: number;
  readonly dueAt: number | undefined;
  readonly reason: string | undefined;
  readonly settledAt: number | undefined;
  /** The replay that last requeued it. */
  readonly replay: number | undefined;
}

export interface KeptRunWithFailures extends KeptRun {
  /** Latest first. */
  readonly failures: readonly KeptFailure[];
}

/** How many duplicates of an event have arrived, and when the first and the last did, in milliseconds since 1970. */
export interface KeptDuplicates {
  readonly count: number;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
}

/** Duplicates to be counted, and the keys of their event: one of the two is in the inbox, or both are forgotten. */
export interface SeenDuplicates extends KeptDuplicates {
  /** The identity of the duplicates, which their event has if it was delivered. */
  readonly identity: string;
  /** The identity of their event if it was reconciled; undefined if it can't have been. */
  readonly reconciled: string | undefined;
}

/** A stored event without its body. Times in milliseconds since 1970. */
export interface KeptEvent {
  readonly sequence: Sequence;
  readonly traceId: string;
  readonly source: EventSource;
  readonly eventName: string;
  readonly callId: string | undefined;
  readonly organizationId: string | undefined;
  readonly agentId: string | undefined;
  readonly state: EventState;
  readonly occurredAt: number;
  readonly receivedAt: number;
  /** Undefined if none has been counted. */
  readonly duplicates: KeptDuplicates | undefined;
  readonly runs: readonly KeptRun[];
}

/** A stored event with its body and failures. */
export interface KeptEventWithBytes extends KeptEvent {
  readonly runs: readonly KeptRunWithFailures[];
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** A page of events, latest first, and where the next page begins. */
export interface KeptEventPage {
  readonly events: readonly KeptEvent[];
  readonly cursor: string | undefined;
}

/** Events in order of arrival, with their bodies. */
export interface EventStretch {
  readonly events: readonly StoredEvent[];
  /** The search has looked at every event up to this one. */
  readonly reached: Sequence;
}

/** A run that a replay would requeue, if it is settled. */
export interface ReplayCandidate {
  readonly sequence: Sequence;
  readonly handler: string;
  readonly callId: string | undefined;
  readonly order: Order;
  readonly isJoin: boolean;
}

/** A bounded part of a replay. */
export interface ReplayStep {
  readonly candidates: readonly ReplayCandidate[];
  /** Requeue only dead letters. */
  readonly onlyDead: boolean;
}

/** A bounded part of a dry run of a replay. */
export interface ReplayQuestion extends ReplayStep {
  /** The joins found by earlier parts, as their `joinKey`: a join runs once for each call. */
  readonly joins: ReadonlySet<string>;
}

/** A part of a replay, to be written. */
export interface ReplayWrite extends ReplayStep {
  readonly step: ProgressStep;
}

/** A bounded part of a dismissal: which stored runs of these events are dismissed. */
export interface DismissalStep {
  readonly sequences: readonly Sequence[];
  /** Only runs of this handler; undefined: of every handler. */
  readonly handler: string | undefined;
  /** Dismiss dead letters. */
  readonly takesDead: boolean;
  /** Dismiss open runs that no process has claimed: due or blocked ones. */
  readonly takesWaiting: boolean;
}

/** A part of a dismissal, to be written. */
export interface DismissalWrite extends DismissalStep {
  /** Who dismisses the run, and why. It becomes the run's reason, followed by the run's former reason. */
  readonly reason: string;
  readonly now: number;
  readonly step: ProgressStep;
}

/** A run that was or would be dismissed. */
export interface DismissedRun {
  readonly sequence: Sequence;
  readonly handler: string;
}

/** The states of the runs that a replay requeued, except those removed since, or requeued by another replay. */
export interface ReplayedRuns {
  readonly done: number;
  readonly dead: number;
  /** Due, blocked or in flight. */
  readonly open: number;
}

/** The key of a join's run for one call: the JSON list of its handler and the call's id. */
export function joinKey({ handler, callId }: Pick<ReplayCandidate, 'handler' | 'callId'>): string {
  return JSON.stringify([handler, callId]);
}

/** Every method reads or writes a bounded number of events, so that deliveries can be recorded in between. */
export interface EventStore {
  /** The event with a trace id. */
  get(traceId: string): Promise<KeptEventWithBytes | undefined>;
  /**
   * Events, latest first; `cursor` is that of the previous page. `signal` ends the search, which rejects with its reason.
   */
  list(
    filter: EventFilter,
    page: { limit: number; cursor?: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<KeptEventPage>;

  /** Counts duplicates. Those of events that have been removed are dropped. */
  addDuplicates(seen: readonly SeenDuplicates[]): Promise<void>;

  /** The sequence of the latest event, where a replay ends. */
  lastSequence(): Promise<Sequence>;
  /** The next events that match a filter, after `after` and up to `upTo`: a bounded number of them. */
  stretch(filter: EventFilter, after: Sequence, upTo: Sequence): Promise<EventStretch>;
  /** The candidates that `requeue` would requeue now. */
  wouldRequeue(step: ReplayQuestion): Promise<readonly ReplayCandidate[]>;

  /**
   * Makes settled runs due again (or blocked, if their handler's order requires it), marks them with the replay, and
   * adds them to its audit entry, all in one transaction. Leaves open runs alone, and requeues a join once for each
   * call. Resolves to what was requeued; to undefined, with nothing written, if the step isn't the next one of its
   * entry.
   */
  requeue(step: ReplayWrite): Promise<readonly ReplayCandidate[] | undefined>;

  /** The runs that `dismiss` would dismiss now. */
  wouldDismiss(step: DismissalStep): Promise<readonly DismissedRun[]>;
  /**
   * Settles runs as done without running them, unblocks the runs that wait for them, and adds them to the audit entry,
   * all in one transaction. Leaves claimed runs alone. Resolves to what was dismissed; to undefined, with nothing
   * written, if the step isn't the next one of its entry.
   */
  dismiss(step: DismissalWrite): Promise<readonly DismissedRun[] | undefined>;
  /** The states of the runs that a replay requeued. */
  replayed(replay: number): Promise<ReplayedRuns>;
}
