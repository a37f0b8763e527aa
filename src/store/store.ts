/**
 * The contract of the inbox: what the receiver requires of a store. Every method is asynchronous and assumes no
 * particular database. Every store must pass `test/store/conformance/index.ts`.
 *
 * An event is `new` while it waits to be claimed or is claimed, `open` while only stored runs of it are unsettled,
 * and `done` after that. Most events never have a stored run: a run is stored only if there is something to remember
 * (a retry, a dead letter, a sibling that is still working).
 */
import type { DatabaseOf, Order, UserDatabase } from '../dispatch/handler.ts';
import type { Clock } from '../kit/clock.ts';
import type { CallStore } from './call-store.ts';
import type { ClaimedEvent, ClaimedRun, HandlerTerms, RunSelection, Settled } from './claims.ts';
import type { DriftStore } from './drift-store.ts';
import type { EventRecord } from './event-record.ts';
import type { EventStore } from './event-store.ts';
import type { Failure, FailureStore } from './failure-store.ts';
import type { AuditStore } from './audit-store.ts';
import type { AlertStore } from './alert-store.ts';
import type { HistoryStore } from './history-store.ts';
import type { HandlerStore } from './handler-store.ts';
import type { QuarantineStore } from './quarantine-store.ts';
import type { RetentionStore } from './retention-store.ts';

/** What an attempt has made of a run. */
export interface RunEnd {
  readonly state: RunState;
  /** Attempts that count, this one included. */
  readonly attempts: number;
  /** How the attempt failed, unless it didn't: it is kept with the run. */
  readonly failure?: Failure | undefined;
  /** When this was decided, on the same wall clock as `at` of a state that is due. Milliseconds since 1970. */
  readonly decidedAt: number;
}

/** The state in which an attempt leaves a run. */
export type RunState =
  | { readonly kind: 'done' }
  /** `keepsReason`: the reason that the run had is kept after this one. */
  | { readonly kind: 'dead'; readonly reason: string; readonly keepsReason?: boolean }
  | { readonly kind: 'due'; readonly at: number; readonly reason: string };

/** What becomes of an event that is recorded. */
export interface Recording {
  /**
   * Whether the event is new. When it resolves, the event is on disk. Rejects if the write fails, or when it has taken so
   * long that the sender must be answered.
   */
  readonly written: Promise<'new' | 'duplicate'>;
  /**
   * The event, if the same write has claimed it; undefined if it waits in the inbox, is a duplicate, or was not written.
   * Never rejects, and resolves also if `written` was rejected because the write took too long.
   */
  readonly claimed: Promise<ClaimedEvent | undefined>;
}

/** How much the inbox holds, by state. What is open or dead is counted up to a hundred thousand of each. */
export interface StoreCounts {
  readonly events: { readonly new: number; readonly open: number; readonly done: number };
  /** How many of the new events a process has claimed: it runs their handlers, or will as soon as there is room. */
  readonly claims: { readonly events: number };
  readonly runs: {
    readonly due: number;
    readonly running: number;
    readonly blocked: number;
    readonly dead: number;
  };
  readonly quarantine: {
    readonly notAuthentic: number;
    readonly unreadable: number;
    /**
     * How many deliveries that were not authentic were ever dropped or not kept at all, because unauthenticated senders may take
     * only so much of the disk.
     */
    readonly dropped: number;
  };
}

/**
 * Keeps the inbox. Several processes may share one store: each sees what the others have written, and what a living
 * process has claimed no other process gets. Every write about a claim is fenced: it has no effect once the claim has
 * passed to another process.
 */
export interface Store<Transaction = UserDatabase> {
  /** The name of this store in a sentence for a person, such as its file. */
  readonly name: string;

  /**
   * Has `report` called with what happens by itself. Called once, before anything else. A store that has nothing to
   * report need not have it.
   */
  reportTo?(report: (notice: StoreNotice) => void): void;
  /** Opens, brings the schema up to date, and enters this process among those that share the store. */
  open(): Promise<void>;
  /** Finishes what was begun, gives claims back, and closes. */
  close(): Promise<void>;
  /**
   * From now on no write waits while another process has locked the store: a write that can't be made at once fails.
   * Claims are given back as soon as that can be written, or taken over when this process has ended. Called when
   * closing must not wait any longer.
   */
  abandon(): void;

  /**
   * ONE durable write. The insert itself decides on duplicates. With `mayClaim`, the same write also claims a new event
   * unless others of its call go before it: so there is no other transaction before its runs. A store may leave more events to
   * `claimEvents`.
   *
   * What is claimed must reach the caller in the order in which it was claimed, or events of one call could overtake each
   * other: `claimed` and the promises of `claimEvents` resolve in that order.
   */
  record(record: EventRecord, mayClaim: boolean): Recording;
  /**
   * Whether an event would have to wait for its write longer than its sender waits, so that `record` would refuse it. A
   * store that never knows need not have it.
   */
  isOverloaded?(): boolean;
  /**
   * Resolves when the store can take a delivery, and rejects when it can't; waits while another process has locked it.
   * It writes as `record` does, and leaves nothing behind. A store that never knows need not have it.
   */
  probe?(): Promise<void>;
  /** The scheme pinned for this inbox, if any. */
  pinnedScheme(): Promise<string | undefined>;
  /**
   * Pins a scheme unless one is pinned already, or if `instead` is the one that is pinned. Resolves to the one that is
   * pinned then. Of two processes that pin at the same time, one wins, and the other gets its scheme.
   */
  pinScheme(scheme: string, instead?: string): Promise<string>;
  /** Removes the pinned scheme, and returns it. */
  unpinScheme(): Promise<string | undefined>;

  /** Claims at most `limit` new events, in order of arrival. */
  claimEvents(limit: number): Promise<readonly ClaimedEvent[]>;
  /**
   * Claims due runs of one handler, earliest first. A run that no attempt has begun, and that no replay has requeued,
   * is left out while an earlier event of its call waits unclaimed. With order `strict`, a run is left out while an
   * earlier run of the handler and call waits.
   */
  claimRuns(handler: HandlerTerms, selection: RunSelection): Promise<readonly ClaimedRun[]>;
  /**
   * The runs of a claimed event, one for each handler that takes it. A handler whose run was stored under an earlier claim
   * is left out. Writes nothing; if there are no runs, the claim must be ended by `finish`.
   */
  runsOf(event: ClaimedEvent, handlers: readonly HandlerTerms[]): readonly ClaimedRun[];
  /**
   * Whether a claimed run may be put into a lane: false if the order of its handler puts it after an open run of its call, and
   * false for the run of a join that has no row. Call it exactly once for each run, whether or not the lane has room: until
   * then for a stored run, and until `runsOf` for the runs of an event, a store may note which runs come before it. A run that
   * may not be placed goes back by `requeue`.
   */
  mayPlace(run: ClaimedRun): boolean;
  /**
   * Puts a claimed run that has not begun back into the inbox: due, or blocked by the runs of its call that its handler's
   * order puts before it. The event of a join is counted as arrived instead, and the inbox keeps the join's run.
   */
  requeue(run: ClaimedRun): Promise<Settled>;
  /**
   * When the handler's next stored run is due, in milliseconds since 1970. With `after`, only runs that are due later
   * than that count.
   */
  nextDue(handler: string, after?: number): Promise<number | undefined>;
  /**
   * Notes that an event is about to be read over which a process has died. If this process dies before `endReading`,
   * that is counted in `readingCrashes`; if it dies later, in `crashCount` alone. Resolves to whether the claim still
   * holds.
   */
  beginReading(claimed: ClaimedEvent | ClaimedRun): Promise<boolean>;
  /** The event has been read. */
  endReading(claimed: ClaimedEvent | ClaimedRun): Promise<void>;
  /**
   * Counts an attempt of a run before its handler is called: an event over which a process has died must not be tried for ever.
   * Resolves to the run with that attempt, or undefined when the claim is lost.
   */
  countAttempt(run: ClaimedRun): Promise<ClaimedRun | undefined>;
  /** Writes how a run ended, if the claim still holds. */
  settle(run: ClaimedRun, end: RunEnd): Promise<Settled>;
  /**
   * Writes `effects` and the end of the run in one transaction: both or neither. `effects` gets the transaction for as long
   * as it runs, and must be synchronous if the database is. Rejects with `Unconfirmed` when both are written, but the
   * disk has not confirmed it.
   */
  settleWith(run: ClaimedRun, end: RunEnd, effects: (transaction: Transaction) => unknown): Promise<Settled>;
  /**
   * Makes blocked runs of a handler due that no settlement would ever unblock: all of them, unless its order is `strict`; then
   * the first of each call of which no other run is open but blocked ones that come later. Called when a process starts.
   */
  unblock(handler: string, order: Order): Promise<void>;
  /** Ends the claim on an event for which there is nothing to run. */
  finish(event: ClaimedEvent): Promise<void>;

  /**
   * Tells the other processes that this one lives, and takes over what dead processes held. Resolves to the number of
   * claims taken over.
   */
  keepAlive(): Promise<{ readonly takenOver: number }>;
  /**
   * Tells the other processes which handlers this one has. Resolves to the handlers of each other living process that
   * has told its own.
   */
  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]>;
  /**
   * Has `onWork` called when there may be work that another process has stored or given back, within some seconds of
   * that. Returns the function that ends it.
   */
  subscribe(onWork: () => void): () => void;

  /**
   * What users' own tables are made with, if the store offers it. It can be used before `open` and until `close`; using it
   * opens the database.
   */
  readonly database?: DatabaseOf<Transaction>;

  /** What calls have become, and what joins wait for. */
  readonly calls: CallStore;
  /** Looking at events, and putting settled runs back to be run again. */
  readonly events: EventStore;
  /** Deliveries that no handler sees. */
  readonly quarantine: QuarantineStore;
  /** How the platform departs from its documents. */
  readonly drift: DriftStore;
  /** Which handlers are paused, and what waits for each. */
  readonly handlers: HandlerStore;
  /** The failures that are alike. */
  readonly failures: FailureStore;
  /** How much has happened, by time. */
  readonly history: HistoryStore;
  /** Which alerts are raised. */
  readonly alerts: AlertStore;
  /** What people have done. */
  readonly audit: AuditStore;
  /** Removing what was kept long enough, and what is to be erased. */
  readonly retention: RetentionStore;

  /** Names of handlers that have stored runs waiting. */
  waitingHandlers(): Promise<readonly string[]>;
  counts(): Promise<StoreCounts>;
}

/** Makes the store of one receiver, with the receiver's clock. `postgres()` of `ringback/postgres` returns one. */
export interface StoreFactory<Transaction = UserDatabase> {
  createStore(clock: Clock): Store<Transaction>;
}

/** What a store reports by itself, for the log: nobody has called for it. */
export type StoreNotice =
  /** What holds the data was deleted or replaced. Nothing can be written any more; `found` ends a sentence. */
  | { readonly kind: 'replaced'; readonly found: string }
  /** The last process crashed, and the write-ahead log that it left behind is missing. */
  | { readonly kind: 'wal_missing' }
  /** The user's code began a transaction, at this place in its files, and left it open: it was rolled back. */
  | { readonly kind: 'transaction_left_open'; readonly place: string | undefined };
