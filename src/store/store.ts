/**
 * The contract of the inbox: what the receiver requires of a store, whatever its database. Every store must pass
 * `test/store/conformance/index.ts`.
 *
 * An event is `new` while it waits to be claimed or is claimed, `open` while only stored runs of it are unsettled,
 * and `done` after that. Most events never have a stored run: a run is stored only if there is something to remember
 * (a retry, a dead letter, a sibling that is still working).
 */
import type { DatabaseOf, UserDatabase } from '../dispatch/handler.ts';
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

/** How an attempt ended. */
export interface RunEnd {
  readonly state: RunState;
  /** The number of attempts that count, this one included. */
  readonly attempts: number;
  /** How the attempt failed, if it did. The store keeps this with the run. */
  readonly failure?: Failure | undefined;
  /** When this was decided, by the same wall clock as `at` of a due state. Milliseconds since 1970. */
  readonly decidedAt: number;
}

/** The state in which an attempt leaves a run. */
export type RunState =
  | { readonly kind: 'done' }
  /** `keepsReason`: the run's former reason is kept, after this one. */
  | { readonly kind: 'dead'; readonly reason: string; readonly keepsReason?: boolean }
  | { readonly kind: 'due'; readonly at: number; readonly reason: string };

/** The outcome of recording an event. */
export interface Recording {
  /** Resolves once the event is on disk. Rejects if the write fails, or takes longer than the sender waits. */
  readonly written: Promise<'new' | 'duplicate'>;
  /**
   * The event, if the same write claimed it; undefined if it waits in the inbox, is a duplicate, or was not written.
   * Never rejects, and may still resolve to the event after `written` rejected because the write took too long.
   */
  readonly claimed: Promise<ClaimedEvent | undefined>;
}

/** How much the inbox holds, by state. Open events, and runs of each state, are counted up to a hundred thousand. */
export interface StoreCounts {
  readonly events: { readonly new: number; readonly open: number; readonly done: number };
  /** How many of the new events are claimed: a process runs their handlers, or will as soon as it has room. */
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
    /** How many unauthenticated deliveries were ever dropped or not kept, to limit their room on the disk. */
    readonly dropped: number;
  };
}

/**
 * Keeps the inbox. Several processes may share one store: each sees what the others have written, and none can claim
 * what a living process has claimed. Every write about a claim is fenced: it has no effect once the claim has passed to
 * another process.
 */
export interface Store<Transaction = UserDatabase> {
  /** How messages to a person name this store, for example its file. */
  readonly name: string;

  /**
   * Sets the function that the store calls with notices for the log. Called once, before anything else. A store that
   * has nothing to report need not have it.
   */
  reportTo?(report: (notice: StoreNotice) => void): void;
  /** Opens the store, brings its schema up to date, and registers this process among those that share it. */
  open(): Promise<void>;
  /** Finishes the writes that have begun, gives claims back, and closes. */
  close(): Promise<void>;
  /**
   * Called when closing must not wait any longer. From now on, a write fails if another process has locked the store.
   * Claims that can't be given back for that reason are taken over once this process has ended.
   */
  abandon(): void;

  /**
   * Records an event in ONE durable write; the insert itself decides on duplicates. With `mayClaim`, the same write
   * also claims a new event, so that its runs need no second transaction, unless others of its call go before it. A
   * store may leave more events to `claimEvents`.
   *
   * `claimed` and the promises of `claimEvents` must resolve in the order of the claims, or events of one call could
   * overtake each other.
   */
  record(record: EventRecord, mayClaim: boolean): Recording;
  /**
   * Whether an event's write would take longer than its sender waits, so that `record` would refuse it. A store that
   * can't tell need not have it.
   */
  isOverloaded?(): boolean;
  /**
   * Resolves if the store can take a delivery, and rejects if it can't; waits while another process has locked it. Leaves
   * nothing behind. Once the disk or the database has failed, it must write as `record` does; before, it may only see
   * whether a write could begin, because anybody may ask. A store that can't tell need not have it.
   */
  probe?(): Promise<void>;
  /** The scheme pinned for this inbox, if any. */
  pinnedScheme(): Promise<string | undefined>;
  /**
   * Pins a scheme if none is pinned, or if `instead` is the pinned one. Resolves to the scheme that is pinned then: of
   * two processes that pin at the same time, one wins, and the other gets its scheme.
   */
  pinScheme(scheme: string, instead?: string): Promise<string>;
  /** Removes the pinned scheme, and returns it. */
  unpinScheme(): Promise<string | undefined>;

  /** Claims at most `limit` new events, in order of arrival. */
  claimEvents(limit: number): Promise<readonly ClaimedEvent[]>;
  /**
   * Claims due runs of one handler, earliest first. Leaves out a run that no attempt has begun and no replay has
   * requeued while an earlier event of its call waits unclaimed, and, with order `strict`, every run while an earlier
   * run of the handler and call waits.
   */
  claimRuns(handler: HandlerTerms, selection: RunSelection): Promise<readonly ClaimedRun[]>;
  /**
   * The runs of a claimed event, one for each matching handler. A handler whose run was stored under an earlier claim
   * is left out. Writes nothing; if there are no runs, the claim must be ended by `finish`.
   */
  runsOf(event: ClaimedEvent, handlers: readonly HandlerTerms[]): readonly ClaimedRun[];
  /**
   * Whether a claimed run may run. It may not if its handler's order puts it after an open run of its call, or if it is
   * the run of a join and has no row; it then goes back by `requeue`. Call this exactly once for each run, whether or not
   * there is room for it: it ends the store's watch for runs that go before a stored run. For the runs of an event,
   * `runsOf` ends it.
   */
  mayRun(run: ClaimedRun): boolean;
  /**
   * Whether this process may still hold the claim on a run, as far as it knows without asking the database. It doesn't
   * once it has noticed that others took it for dead: such a run need not begin, because it is theirs.
   */
  mayHold(run: ClaimedRun): boolean;
  /**
   * Puts a claimed run that has not begun back into the inbox: due, or blocked by the runs of its call that its
   * handler's order puts before it. For a join without a row, counts its event as arrived instead; the inbox keeps the
   * join's run.
   */
  requeue(run: ClaimedRun): Promise<Settled>;
  /** When the handler's next stored run is due, in milliseconds since 1970; with `after`, the next one after that. */
  nextDue(handler: string, after?: number): Promise<number | undefined>;
  /**
   * Notes that an event which may have killed a process is about to be read. If this process dies before `endReading`,
   * the crash counts in `readingCrashes` as well. If it dies later, the crash counts in `crashCount` alone if the event
   * was read for a run, whose attempt follows, and not at all if it was read to find its handlers while this process
   * had no run of it. Resolves to whether the claim still holds.
   */
  beginReading(claimed: ClaimedEvent | ClaimedRun): Promise<boolean>;
  /** The event has been read. */
  endReading(claimed: ClaimedEvent | ClaimedRun): Promise<void>;
  /**
   * Counts an attempt of a run before its handler is called, so that an event that kills the process is not tried
   * forever. Resolves to the run with that attempt, or to undefined if the claim is lost.
   */
  countAttempt(run: ClaimedRun): Promise<ClaimedRun | undefined>;
  /** Writes how a run ended, if the claim still holds. */
  settle(run: ClaimedRun, end: RunEnd): Promise<Settled>;
  /**
   * Writes `effects` and the end of the run in one transaction: both or neither. `effects` may use the transaction
   * while it runs, and must be synchronous if the database is. Rejects with `Unconfirmed` if both are written but the
   * disk has not confirmed it.
   */
  settleWith(run: ClaimedRun, end: RunEnd, effects: (transaction: Transaction) => unknown): Promise<Settled>;
  /**
   * Makes all blocked runs of a handler due. Called when a process starts in which its order is not `strict`: a
   * settlement unblocks only the next run of its call.
   */
  unblock(handler: string): Promise<void>;
  /** Ends the claim on an event for which there is nothing to run. */
  finish(event: ClaimedEvent): Promise<void>;

  /**
   * Shows the other processes that this one lives, and takes over what dead ones held. Resolves to the number of claims
   * taken over.
   */
  keepAlive(): Promise<{ readonly takenOver: number }>;
  /**
   * Announces this process's handlers to the others. Resolves to the handlers of each other living process that has
   * announced its own.
   */
  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]>;
  /**
   * Calls `onWork` within some seconds after another process may have stored work or given it back. Returns the
   * function that ends the subscription.
   */
  subscribe(onWork: () => void): () => void;

  /**
   * The database for users' own tables, if the store offers it. It can be used before `open` and until `close`; using
   * it opens the database.
   */
  readonly database?: DatabaseOf<Transaction>;

  /** Calls, and what joins wait for. */
  readonly calls: CallStore;
  /** Shows events, requeues settled runs, and dismisses runs. */
  readonly events: EventStore;
  /** Deliveries that no handler sees. */
  readonly quarantine: QuarantineStore;
  /** How the platform departs from its documents. */
  readonly drift: DriftStore;
  /** Pauses and rates of handlers, and what waits for each. */
  readonly handlers: HandlerStore;
  /** Failed attempts, in groups of those that are alike. */
  readonly failures: FailureStore;
  /** Counts by minute and hour. */
  readonly history: HistoryStore;
  /** Raised alerts. */
  readonly alerts: AlertStore;
  /** What people have done. */
  readonly audit: AuditStore;
  /** Removes what has been kept long enough, and erases what a person asks for. */
  readonly retention: RetentionStore;

  /** Names of handlers that have stored runs waiting. */
  waitingHandlers(): Promise<readonly string[]>;
  counts(): Promise<StoreCounts>;
}

/** Makes the store of one receiver, with the receiver's clock. `postgres()` of `ringback/postgres` returns one. */
export interface StoreFactory<Transaction = UserDatabase> {
  createStore(clock: Clock): Store<Transaction>;
}

/** What a store reports for the log, without being asked. */
export type StoreNotice =
  /** The database was deleted or replaced, and nothing can be written any more. `found` ends a sentence. */
  | { readonly kind: 'replaced'; readonly found: string }
  /** The last process crashed, and the WAL that it left behind is missing. */
  | { readonly kind: 'wal_missing' }
  /** User code began a transaction at this location in its files and left it open. The store rolled it back. */
  | { readonly kind: 'transaction_left_open'; readonly location: string | undefined };
