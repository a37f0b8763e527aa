/** The part of the store that shows events to a person, puts settled runs back to be run again, and dismisses others. */
import type { Order } from '../handling.ts';
import type { Headers } from '../model.ts';
import type { Sequence } from './run-key.ts';

/** How far an event has come: to be handled, kept by stored runs only, or settled by every handler. */
export type EventState = 'new' | 'open' | 'done';

/** A stored event with its bytes, as it is handled. */
export interface StoredEvent {
  readonly sequence: Sequence;
  readonly traceId: string;
  readonly callId: string | undefined;
  readonly receivedAt: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Which events. Times in milliseconds since 1970, of arrival; every condition that is given must hold. */
export interface EventFilter {
  readonly eventName?: string | undefined;
  readonly callId?: string | undefined;
  readonly agentId?: string | undefined;
  /** How far the event has come, or `dead`: it has a dead letter (of `handler`, where that is given). */
  readonly state?: EventState | 'dead' | undefined;
  /** It has a stored run of this handler. Runs that were done at the first go mostly leave none. */
  readonly handler?: string | undefined;
  readonly since?: number | undefined;
  /** Exclusive. */
  readonly until?: number | undefined;
  /** A text within the trace id. */
  readonly traceId?: string | undefined;
}

/** A stored run of an event. Times in milliseconds since 1970. */
export interface KeptRun {
  readonly handler: string;
  readonly state: 'due' | 'running' | 'blocked' | 'done' | 'dead';
  readonly attempts: number;
  readonly dueAt: number | undefined;
  readonly reason: string | undefined;
  readonly settledAt: number | undefined;
  /** The replay that put it back last. */
  readonly replay: number | undefined;
}

/** What is kept of an event, without its bytes. Times in milliseconds since 1970. */
export interface KeptEvent {
  readonly sequence: Sequence;
  readonly traceId: string;
  readonly eventName: string;
  readonly callId: string | undefined;
  readonly organizationId: string | undefined;
  readonly agentId: string | undefined;
  readonly state: EventState;
  readonly occurredAt: number;
  readonly receivedAt: number;
  readonly runs: readonly KeptRun[];
}

/** What is kept of an event, with its bytes. */
export interface KeptEventWithBytes extends KeptEvent {
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Some of the events, latest first, and where the next page begins. */
export interface KeptEventPage {
  readonly events: readonly KeptEvent[];
  readonly cursor: Sequence | undefined;
}

/** Some of the events in order of arrival, with their bytes. */
export interface EventStretch {
  readonly events: readonly StoredEvent[];
  /** Every event up to this one has been looked at. */
  readonly reached: Sequence;
}

/** Who asks for events to be run again, and why. */
export interface ReplayRequest {
  readonly by: string | undefined;
  readonly reason: string | undefined;
  /** What was asked for, as JSON. */
  readonly filter: string;
  readonly now: number;
}

/** A run that a replay would put back, if it is settled. */
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
  /** Whether only dead letters are put back. */
  readonly onlyDead: boolean;
  /** The joins, as `joinKey` names them, that this replay has put back already: one run a call. */
  readonly joins: ReadonlySet<string>;
}

/** A part of a replay that is written. */
export interface ReplayWrite extends ReplayStep {
  readonly replay: number;
  /** In how many milliseconds the first of them is due, and how long after it each of the others; undefined: all at once. */
  readonly spread: { readonly delay: number; readonly gap: number } | undefined;
}

/** A bounded part of a dismissal: which stored runs of some events a person has decided not to do. */
export interface DismissalStep {
  readonly sequences: readonly Sequence[];
  /** Only of this handler; undefined: of every one. */
  readonly handler: string | undefined;
  /** Dead letters. */
  readonly takesDead: boolean;
  /** Open runs that no process has claimed: due or blocked. */
  readonly takesWaiting: boolean;
}

/** A part of a dismissal that is written. */
export interface DismissalWrite extends DismissalStep {
  /** Who dismisses, and why: the reason of the run from now on, before the one that it had. */
  readonly reason: string;
  readonly now: number;
}

/** A run that was dismissed, or would be. */
export interface DismissedRun {
  readonly sequence: Sequence;
  readonly handler: string;
}

/** What has become of the runs that a replay has put back, those left out that are gone, or that another put back since. */
export interface ReplayedRuns {
  readonly done: number;
  readonly dead: number;
  /** Due, blocked or under way. */
  readonly open: number;
}

/** Names the join of a handler and a call. */
export function joinKey({ handler, callId }: Pick<ReplayCandidate, 'handler' | 'callId'>): string {
  return JSON.stringify([handler, callId]);
}

/** Every verb looks at, or writes, a bounded number of events, so that deliveries are recorded in between. */
export interface EventStore {
  /** The event of a trace id. */
  get(traceId: string): Promise<KeptEventWithBytes | undefined>;
  /** Events, latest first; `before` is the cursor of the page before. */
  list(filter: EventFilter, page: { limit: number; before: Sequence | undefined }): Promise<KeptEventPage>;

  /** The number of the latest event: a replay goes no further. */
  lastSequence(): Promise<Sequence>;
  /** The next events of a filter, a bounded number of them, after one event and up to another. */
  stretch(filter: EventFilter, after: Sequence, upTo: Sequence): Promise<EventStretch>;
  /** Which of the candidates `putBack` would put back now. */
  wouldPutBack(step: ReplayStep): Promise<readonly ReplayCandidate[]>;

  /** Writes down that a replay begins; resolves to its number. */
  beginReplay(request: ReplayRequest): Promise<number>;
  /**
   * Puts settled runs back as due (or blocked, where the order of their call wants it), marks them, and adds
   * them to the replay's record, all in one transaction. What is open is left alone. Resolves to what was put.
   */
  putBack(step: ReplayWrite): Promise<readonly ReplayCandidate[]>;
  /** Writes down that a replay has put everything it was asked for. */
  endReplay(replay: number, now: number): Promise<void>;

  /** Which runs `dismiss` would dismiss now. */
  wouldDismiss(step: DismissalStep): Promise<readonly DismissedRun[]>;
  /**
   * Settles runs as done that nobody does, and lets go what waits for them, all in one transaction. What is claimed is
   * left alone. Resolves to what was dismissed.
   */
  dismiss(step: DismissalWrite): Promise<readonly DismissedRun[]>;
  /** How far the runs have come that a replay has put back. */
  replayed(replay: number): Promise<ReplayedRuns>;
}
