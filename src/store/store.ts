/**
 * The contract of the inbox: what the receiver asks of whatever keeps its events. Every method is
 * asynchronous and free of any one database's habits; `test/store/conformance.ts` is what a store must pass.
 *
 * An event is `new` until its handlers are settled, `open` while only stored runs keep it, `done` after. Most
 * events never have a stored run: one exists only where there is something to remember (a retry, a dead
 * letter, a sibling that still works).
 */
import type { InboxDatabase, Order, RunReplay, UserDatabase } from '../handling.ts';
import type { CallStore } from './call-store.ts';
import type { DriftStore } from './drift-store.ts';
import type { EventRecord } from './event-record.ts';
import type { EventStore, StoredEvent } from './event-store.ts';
import type { QuarantineStore } from './quarantine-store.ts';
import type { RetentionStore } from './retention-store.ts';
import type { HeldWork, RunKey, Sequence, Settled } from './run-key.ts';

/** Which of the due runs may be claimed. */
export interface ClaimOrder {
  /** None that is behind one of its call that waits. */
  readonly isStrict: boolean;
  /** None of these calls: enough of their runs are in hand. */
  readonly without: readonly string[];
  /** Of each call one at the most. */
  readonly isOneACall: boolean;
}

/** A stored run of the same call that is not settled, from an earlier event. */
export interface OpenRun {
  readonly handler: string;
  readonly attempts: number;
  /** When it is due, as the store counts it: to be compared, and given back with a run that follows it. Zero is at once. */
  readonly dueAt: number;
}

/** A claim: this process, and no other, may run the event's handlers until it settles or dies. */
export interface ClaimedEvent extends StoredEvent {
  /** How many processes died while they held this event. */
  readonly takeovers: number;
  /** Handlers that already have a stored run for this event, in whatever state. */
  readonly storedHandlers: readonly string[];
  /**
   * Unsettled stored runs of earlier events of the same call. One for each handler is enough: the one that is due last of
   * those that no attempt has begun, or any where all have begun.
   */
  readonly openRuns: readonly OpenRun[];
}

/** A claimed run that was stored. */
export interface ClaimedRun extends StoredEvent {
  readonly handler: string;
  /** How many processes died while they held its event. */
  readonly takeovers: number;
  /** Attempts that have been counted so far. */
  readonly attempts: number;
  /** The replay that put it back, if any. */
  readonly replay: RunReplay | undefined;
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
  /** Whether later runs of the same handler and call wait until this one is done or dead. */
  readonly isStrict: boolean;
  /** When that was decided, on the same wall clock as a time at which it is due. Milliseconds since 1970. */
  readonly now: number;
}

/** What a run is left as. */
export type RunState =
  | { readonly kind: 'done' }
  | { readonly kind: 'dead'; readonly reason: string }
  | { readonly kind: 'due'; readonly at: number; readonly reason: string }
  /** Not begun, and due with the open run before it whose `dueAt` that is, to the millisecond. */
  | { readonly kind: 'following'; readonly dueAt: number }
  | { readonly kind: 'blocked' };

/** How much the inbox holds, by state. */
export interface StoreCounts {
  readonly events: { readonly new: number; readonly open: number; readonly done: number };
  readonly runs: {
    readonly due: number;
    readonly running: number;
    readonly blocked: number;
    readonly dead: number;
  };
  readonly quarantine: {
    readonly notAuthentic: number;
    readonly unreadable: number;
    /** How many that were not authentic have been dropped, ever, because strangers may take only so much. */
    readonly dropped: number;
  };
}

/**
 * What keeps the inbox. Several processes may share one: what one of them has written the others see, and what it has
 * claimed no other gets while it lives.
 */
export interface Store {
  /** What to call this store in a sentence for a person, such as its file. */
  readonly name: string;

  /** Opens, brings the schema up to date, and joins the processes that share the store. */
  open(): Promise<void>;
  /** Finishes what was begun, gives claims back, and closes. */
  close(): Promise<void>;
  /**
   * From now on no write waits for others that hold the store: what can't be written at once fails. Claims are given back
   * once that can be written, or taken over when the process has ended. Called when closing must not wait any longer.
   */
  abandon(): void;

  /**
   * ONE durable write: when it resolves, the event is on disk. The insert itself decides on duplicates. With
   * `handOver`, a new event may be claimed by the same write, unless others go before it; `handOver` is then called
   * with it, in the order of such writes, before the promise resolves, and even if it was rejected because the
   * write took too long.
   */
  record(record: EventRecord, handOver?: (claimed: ClaimedEvent) => void): Promise<'new' | 'duplicate'>;
  /** The layout pinned for this inbox, if any. */
  pinnedLayout(): Promise<string | undefined>;
  /** Pins a layout unless one is pinned, and returns the one that is. */
  pinLayout(layout: string): Promise<string>;
  /** Lets go of the layout that is pinned, and returns it. */
  unpinLayout(): Promise<string | undefined>;

  /**
   * Claims new events in order of arrival, as many as asked for at the most. `handOver` gets them when they are claimed:
   * before any event that is claimed later, as it is recorded, and before the promise resolves.
   */
  claimEvents(
    limit: number,
    handOver?: (claimed: readonly ClaimedEvent[]) => void,
  ): Promise<readonly ClaimedEvent[]>;
  /**
   * Claims the due runs of one handler, earliest first; none that no attempt has begun while an earlier event of its call
   * is new and nobody's.
   */
  claimRuns(handler: string, limit: number, now: number, order?: ClaimOrder): Promise<readonly ClaimedRun[]>;
  /**
   * Gives back the claims of this process that it hasn't in hand: a claim may have been written although it
   * failed. `held` is asked as it is written: meanwhile more may have come into hand. Resolves to how many that were.
   */
  releaseUnheld(held: () => HeldWork): Promise<number>;
  /** When the handler's next stored run is due that is due later than `after`, in milliseconds since 1970; default: ever. */
  nextDue(handler: string, after?: number): Promise<number | undefined>;
  /**
   * Counts an attempt before it begins, for runs whose event has already seen a process die: an event that
   * kills its process must come to an end. Resolves to the attempts counted, or undefined when the claim is lost.
   */
  begin(run: RunKey): Promise<number | undefined>;
  /** Writes how a run ended, if the claim still holds. */
  settle(settlement: Settlement): Promise<Settled>;
  /**
   * Writes `effects` and the settlement in one transaction: both or neither. `effects` gets the database's
   * own connection for as long as it runs, and must be synchronous where the database is. Rejects with `Unconfirmed` when both are
   * written, and only not surely on disk.
   */
  settleWith(settlement: Settlement, effects: (database: UserDatabase) => unknown): Promise<Settled>;
  /**
   * Lets blocked runs of a handler go that nothing lets go any more: all of them, due no sooner than those that they follow in
   * order `call`; or with order `strict` the first of each call that has no other run open. Called as a process starts.
   */
  unblock(handler: string, order: Order): Promise<void>;
  /** Marks an event done for which there is nothing to run. */
  finish(sequence: Sequence): Promise<void>;

  /** Says that this process lives, and takes over what dead ones held. Resolves to how much that was. */
  keepAlive(): Promise<{ readonly takenOver: number }>;
  /** Whether another process has changed the store since this was last asked. */
  changedElsewhere(): boolean;

  /**
   * The connection for users' own tables, from before `open` until `close`, where the database has one that can be
   * used at once; using it opens the database.
   */
  readonly database?: InboxDatabase;

  /** What calls have become, and what joins wait for. */
  readonly calls: CallStore;
  /** Looking at events, and putting settled runs back to be run again. */
  readonly events: EventStore;
  /** Deliveries that no handler sees. */
  readonly quarantine: QuarantineStore;
  /** How the platform departs from its documents. */
  readonly drift: DriftStore;
  /** Letting go of what was kept long enough, and of what is to be erased. */
  readonly retention: RetentionStore;

  /** Names of handlers that have stored runs waiting. */
  waitingHandlers(): Promise<readonly string[]>;
  counts(): Promise<StoreCounts>;
}
