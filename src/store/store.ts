/**
 * The contract of the inbox: what the receiver asks of whatever keeps its events. Every method is
 * asynchronous and free of any one database's habits; `test/store/conformance.ts` is what a store must pass.
 *
 * An event is `new` until its handlers are settled, `open` while only stored runs keep it, `done` after. Most
 * events never have a stored run: one exists only where there is something to remember (a retry, a dead
 * letter, a sibling that still works).
 */
import type { CallFacts } from '../calls/timeline.ts';
import type { Headers } from '../model.ts';
import type { CallStore } from './call-store.ts';
import type { RunKey, Sequence, Settled } from './run-key.ts';

/** What one authentic, readable delivery leaves behind. */
export interface EventRecord {
  /** The event's identity, and every further key under which a copy would count as the same event. */
  readonly traceId: string;
  readonly identities: readonly string[];
  readonly eventName: string;
  readonly callId: string | undefined;
  readonly organizationId: string | undefined;
  /** Milliseconds since 1970. */
  readonly occurredAt: number;
  /** Milliseconds since 1970. */
  readonly receivedAt: number;
  /** The headers that matter; never credentials. */
  readonly headers: Headers;
  /** What the event says about its call. */
  readonly facts: CallFacts;
  /** The raw bytes, as they were signed. */
  readonly body: Uint8Array;
}

/** What is kept of a delivery that no handler will see. */
export interface QuarantineRecord {
  readonly kind: 'not_authentic' | 'unreadable';
  /** Why, as a code of the log. */
  readonly reason: string;
  readonly digest: string;
  readonly receivedAt: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** A stored event as dispatch gets it back. */
export interface StoredEvent {
  readonly sequence: Sequence;
  readonly traceId: string;
  readonly callId: string | undefined;
  readonly receivedAt: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** A stored run of the same call that is not settled, from an earlier event. */
export interface OpenRun {
  readonly handler: string;
  readonly attempts: number;
}

/** A claim: this process, and no other, may run the event's handlers until it settles or dies. */
export interface ClaimedEvent extends StoredEvent {
  /** How many processes died while they held this event. */
  readonly takeovers: number;
  /** Handlers that already have a stored run for this event, in whatever state. */
  readonly storedHandlers: readonly string[];
  /** Unsettled stored runs of earlier events of the same call. */
  readonly openRuns: readonly OpenRun[];
}

/** A claimed run that was stored. */
export interface ClaimedRun extends StoredEvent {
  readonly handler: string;
  /** Attempts that have been counted so far. */
  readonly attempts: number;
}

/** How a run is left. */
export interface Settlement extends RunKey {
  /** Whether no sibling without a row is left in this process: the claim on the event ends. */
  readonly last: boolean;
  /** Attempts that count, this one included. */
  readonly attempts: number;
  readonly state: RunState;
  /** Whether the handler is a join, which remembers what it has seen. */
  readonly isJoin: boolean;
  /** Lets the next blocked run of the same handler and call go. */
  readonly unblocks: boolean;
  readonly now: number;
}

/** What a run is left as. */
export type RunState =
  | { readonly kind: 'done' }
  | { readonly kind: 'dead'; readonly reason: string }
  | { readonly kind: 'due'; readonly at: number; readonly reason: string }
  | { readonly kind: 'blocked' };

/** A dead letter, for a person. */
export interface DeadLetter {
  readonly sequence: Sequence;
  readonly traceId: string;
  readonly eventName: string;
  readonly callId: string | undefined;
  readonly handler: string;
  readonly attempts: number;
  readonly reason: string;
  readonly at: number;
}

/** How much the inbox holds, by state. */
export interface StoreCounts {
  readonly events: { readonly new: number; readonly open: number; readonly done: number };
  readonly runs: {
    readonly due: number;
    readonly running: number;
    readonly blocked: number;
    readonly dead: number;
  };
  readonly quarantine: { readonly notAuthentic: number; readonly unreadable: number };
}

/** How far an event has come: to be handled, kept by stored runs only, or settled by every handler. */
export type EventState = 'new' | 'open' | 'done';

export interface Store {
  /** What to call this store in a sentence for a person, such as its file. */
  readonly name: string;

  /** Opens, brings the schema up to date, and joins the processes that share the store. */
  open(): Promise<void>;
  /** Finishes what was begun, gives claims back, and closes. */
  close(): Promise<void>;

  /** ONE durable write: when it resolves, the event is on disk. The insert itself decides on duplicates. */
  record(record: EventRecord): Promise<'new' | 'duplicate'>;
  /** Keeps a delivery that no handler will see. Those not authentic are bounded by count and bytes. */
  quarantine(record: QuarantineRecord): Promise<void>;
  /** The layout pinned for this inbox, if any. */
  pinnedLayout(): Promise<string | undefined>;
  /** Pins a layout unless one is pinned, and returns the one that is. */
  pinLayout(layout: string): Promise<string>;

  /** Claims new events in order of arrival, as many as asked for at the most. */
  claimEvents(limit: number): Promise<readonly ClaimedEvent[]>;
  /** Claims the due runs of one handler, earliest first. */
  claimRuns(handler: string, limit: number, now: number): Promise<readonly ClaimedRun[]>;
  /** When the handler's next stored run is due, in milliseconds since 1970. */
  nextDue(handler: string): Promise<number | undefined>;
  /**
   * Counts an attempt before it begins, for runs whose event has already seen a process die: an event that
   * kills its process must come to an end. Resolves to the attempts counted, or undefined when the claim is lost.
   */
  begin(run: RunKey): Promise<number | undefined>;
  /** Writes how a run ended, if the claim still holds. */
  settle(settlement: Settlement): Promise<Settled>;
  /**
   * Writes `effects` and the settlement in one transaction: both or neither. `effects` gets the database's
   * own connection and must be synchronous where the database is.
   */
  settleWith(settlement: Settlement, effects: (database: never) => unknown): Promise<Settled>;
  /** Marks an event done for which there is nothing to run. */
  finish(sequence: Sequence): Promise<void>;

  /** Says that this process lives, and takes over what dead ones held. Resolves to how much that was. */
  keepAlive(): Promise<{ readonly takenOver: number }>;
  /** Whether another process has changed the store since this was last asked. */
  changedElsewhere(): boolean;

  /** What calls have become, and what joins wait for. */
  readonly calls: CallStore;

  /** Dead letters, latest first. */
  deadLetters(limit: number): Promise<readonly DeadLetter[]>;
  /** Names of handlers that have stored runs waiting. */
  waitingHandlers(): Promise<readonly string[]>;
  counts(): Promise<StoreCounts>;
  /** How far the event of this trace id has come, or undefined when there is none. */
  eventState(traceId: string): Promise<EventState | undefined>;
}
