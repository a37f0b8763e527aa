/** The part of the store that shows events to a person, puts settled runs back to be run again, and dismisses runs. */
import type { Order } from '../dispatch/handler.ts';
import type { EventSource, Headers } from '../events/model.ts';
import type { ProgressStep } from './audit-store.ts';
import type { KeptFailure } from './failure-store.ts';
import type { Sequence } from './event-record.ts';

/**
 * How far an event has come: `new` while it is to be handled, `open` while only stored runs of it are unsettled,
 * `done` when every handler has settled.
 */
export type EventState = 'new' | 'open' | 'done';

/** A stored event with its bytes, in the form in which it is handled. */
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

/** Selects events: every condition that is given must hold. Times are times of arrival, in milliseconds since 1970. */
export interface EventFilter {
  readonly eventName?: string | undefined;
  readonly callId?: string | undefined;
  readonly agentId?: string | undefined;
  /** How far the event has come, or `dead`: it has a dead letter (of `handler`, if that is given). */
  readonly state?: EventState | 'dead' | undefined;
  /** The event has a stored run of this handler. Most runs that were done at the first attempt are not stored. */
  readonly handler?: string | undefined;
  readonly since?: number | undefined;
  /** Exclusive. */
  readonly until?: number | undefined;
  readonly traceId?: string | undefined;
  /** The event has a run that has failed like this and is not done since: the id of a group of failures. */
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
  /** The replay that last put it back. */
  readonly replay: number | undefined;
}

/** The same, with its failures. */
export interface KeptRunWithFailures extends KeptRun {
  /** The latest first. */
  readonly failures: readonly KeptFailure[];
}

/** What is kept of an event, without its bytes. Times in milliseconds since 1970. */
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
  readonly runs: readonly KeptRun[];
}

/** What is kept of an event, with its bytes and its failures. */
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

/** Events in order of arrival, with their bytes. */
export interface EventStretch {
  readonly events: readonly StoredEvent[];
  /** Every event up to this one has been looked at. */
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
  /** Whether only dead letters are requeued. */
  readonly onlyDead: boolean;
}

/** What a dry run of a replay asks. */
export interface ReplayQuestion extends ReplayStep {
  /**
   * The joins that were found before, each as the JSON list of its handler and its call's id: a join runs once for each call.
   */
  readonly joins: ReadonlySet<string>;
}

/** A part of a replay, to be written. */
export interface ReplayWrite extends ReplayStep {
  readonly step: ProgressStep;
}

/** A bounded part of a dismissal: the stored runs of these events that a person has decided not to do. */
export interface DismissalStep {
  readonly sequences: readonly Sequence[];
  /** Only runs of this handler; undefined: of every handler. */
  readonly handler: string | undefined;
  /** Whether dead letters are dismissed. */
  readonly takesDead: boolean;
  /** Whether open runs are dismissed that no process has claimed: due or blocked. */
  readonly takesWaiting: boolean;
}

/** A part of a dismissal, to be written. */
export interface DismissalWrite extends DismissalStep {
  /** Who dismisses the run, and why. It becomes the run's reason, followed by the reason that the run had before. */
  readonly reason: string;
  readonly now: number;
  readonly step: ProgressStep;
}

/** A run that was dismissed, or that would be. */
export interface DismissedRun {
  readonly sequence: Sequence;
  readonly handler: string;
}

/**
 * What has become of the runs that a replay has requeued. Runs that were removed since, or that another replay has
 * requeued since, are not counted.
 */
export interface ReplayedRuns {
  readonly done: number;
  readonly dead: number;
  /** Due, blocked or in flight. */
  readonly open: number;
}

/** Names the join of a handler and a call. */
export function joinKey({ handler, callId }: Pick<ReplayCandidate, 'handler' | 'callId'>): string {
  return JSON.stringify([handler, callId]);
}

/** Every method reads or writes a bounded number of events, so that deliveries are recorded in between. */
export interface EventStore {
  /** The event with a trace id. */
  get(traceId: string): Promise<KeptEventWithBytes | undefined>;
  /**
   * Events, latest first; `before` is the cursor of the previous page. `signal` ends the search, which rejects with its reason.
   */
  list(
    filter: EventFilter,
    page: { limit: number; before: string | undefined; signal?: AbortSignal | undefined },
  ): Promise<KeptEventPage>;

  /** The sequence of the latest event: a replay goes no further. */
  lastSequence(): Promise<Sequence>;
  /** The next events that match a filter, a bounded number of them, after one sequence and up to another. */
  stretch(filter: EventFilter, after: Sequence, upTo: Sequence): Promise<EventStretch>;
  /** The candidates that `requeue` would requeue now. */
  wouldRequeue(step: ReplayQuestion): Promise<readonly ReplayCandidate[]>;

  /**
   * Puts settled runs back as due (or blocked, if the order of their call requires it), marks them with the replay,
   * and adds them to its entry in the audit list, all in one transaction. Open runs are left alone, and a join is requeued
   * once for each call. Resolves to what was requeued; to undefined, with nothing written, if the step isn't the next of its
   * entry.
   */
  requeue(step: ReplayWrite): Promise<readonly ReplayCandidate[] | undefined>;

  /** The runs that `dismiss` would dismiss now. */
  wouldDismiss(step: DismissalStep): Promise<readonly DismissedRun[]>;
  /**
   * Settles runs as done without running them, unblocks the runs that wait for them, and adds them to the entry in the audit
   * list, all in one transaction. Claimed runs are left alone. Resolves to what was dismissed; to undefined, with nothing
   * written, if the step isn't the next of its entry.
   */
  dismiss(step: DismissalWrite): Promise<readonly DismissedRun[] | undefined>;
  /** How far the runs have come that a replay has requeued. */
  replayed(replay: number): Promise<ReplayedRuns>;
}
