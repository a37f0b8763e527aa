/**
 * The contract of the inbox: what the receiver requires of a store. Every method is asynchronous and assumes no
 * particular database. Every store must pass `test/store/conformance/index.ts`.
 *
 * An event is `new` while it waits to be claimed or is claimed, `open` while only stored runs of it are unsettled,
 * and `done` after that. Most events never have a stored run: a run is stored only if there is something to remember
 * (a retry, a dead letter, a sibling that is still working).
 */
import type { InboxDatabase, Order, UserDatabase } from '../dispatch/handling.ts';
import type { CallStore } from './call-store.ts';
import type { ClaimOrder, ClaimedEvent, ClaimedRun } from './claims.ts';
import type { DriftStore } from './drift-store.ts';
import type { EventRecord } from './event-record.ts';
import type { EventStore } from './event-store.ts';
import type { QuarantineStore } from './quarantine-store.ts';
import type { RetentionStore } from './retention-store.ts';
import type { StoreNotice } from './store-notice.ts';
import type { RunKey, Sequence, Settled } from './run-key.ts';

/** What becomes of a run: it is done, dead, or stored to be run later. */
export interface Settlement extends RunKey {
  /** Whether no sibling without a row is left in this process, so that the claim on the event ends. */
  readonly last: boolean;
  /** Attempts that count, this one included. */
  readonly attempts: number;
  readonly state: RunState;
  /** Whether the handler is a join, which remembers what it has seen. */
  readonly isJoin: boolean;
  /** Whether later runs of the same handler and call wait until this one is done or dead. */
  readonly isStrict: boolean;
  /** When this was decided, on the same wall clock as `at` of a state that is due. Milliseconds since 1970. */
  readonly now: number;
}

/** The state in which a settlement leaves a run. */
export type RunState =
  | { readonly kind: 'done' }
  /** `keepsReason`: the reason that the run had is kept behind this one. */
  | { readonly kind: 'dead'; readonly reason: string; readonly keepsReason?: boolean }
  | { readonly kind: 'due'; readonly at: number; readonly reason: string }
  /** Not begun, and due at the same millisecond as an earlier open run: `dueAt` is that run's. */
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
    /**
     * How many deliveries that were not authentic were ever dropped or not kept at all, because unauthenticated senders may take
     * only so much of the disk.
     */
    readonly dropped: number;
  };
}

/**
 * Keeps the inbox. Several processes may share one store: each sees what the others have written, and what a living
 * process has claimed no other process gets.
 */
export interface Store {
  /** The name of this store in a sentence for a person, such as its file. */
  readonly name: string;

  /**
   * Has `report` called with what happens by itself. Called once, before anything else. A store that has nothing to
   * report need not have it.
   */
  reportTo?(report: (notice: StoreNotice) => void): void;
  /** Opens, brings the schema up to date, and joins the processes that share the store. */
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
   * ONE durable write: when it resolves, the event is on disk. The insert itself decides on duplicates. With
   * `handOver`, the same write may also claim a new event, unless others go before it. `handOver` is then called with
   * the claimed event, in the order of these writes and before the promise resolves. It is called even if the promise
   * was rejected before, because the write took too long.
   */
  record(record: EventRecord, handOver?: (claimed: ClaimedEvent) => void): Promise<'new' | 'duplicate'>;
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

  /**
   * Claims at most `limit` new events, in order of arrival. `handOver` is called with them as soon as they are
   * claimed: before the promise resolves, and before any event is handed over that a later `record` claims.
   */
  claimEvents(
    limit: number,
    handOver?: (claimed: readonly ClaimedEvent[]) => void,
  ): Promise<readonly ClaimedEvent[]>;
  /**
   * Claims due runs of one handler, earliest first. A run that no attempt has begun, and that no replay has requeued,
   * is left out while an earlier event of its call waits unclaimed.
   */
  claimRuns(handler: string, limit: number, now: number, order?: ClaimOrder): Promise<readonly ClaimedRun[]>;
  /**
   * When the handler's next stored run is due, in milliseconds since 1970. With `after`, only runs that are due later
   * than that count.
   */
  nextDue(handler: string, after?: number): Promise<number | undefined>;
  /**
   * Notes that an event is about to be read over which a process has died, under this process's claim on the event or,
   * with `handler`, on that stored run. If this process dies before `endReading`, that is counted in `readingCrashes`; if
   * it dies later, in `crashCount` alone. Resolves to whether the claim still holds.
   */
  beginReading(sequence: Sequence, handler: string | undefined): Promise<boolean>;
  /** The event has been read. */
  endReading(sequence: Sequence): Promise<void>;
  /**
   * Counts an attempt of a run before it begins: an event over which a process has died must not be tried for ever.
   * Resolves to the attempts counted, or undefined when the claim is lost.
   */
  begin(run: RunKey): Promise<number | undefined>;
  /** Writes how a run ended, if the claim still holds. */
  settle(settlement: Settlement): Promise<Settled>;
  /**
   * Writes `effects` and the settlement in one transaction: both or neither. `effects` gets the database's own
   * connection for as long as it runs, and must be synchronous if the database is. Rejects with `Unconfirmed` when
   * both are written, but the disk has not confirmed it.
   */
  settleWith(settlement: Settlement, effects: (database: UserDatabase) => unknown): Promise<Settled>;
  /**
   * Makes blocked runs of a handler due that no settlement would ever unblock. With order `none`, all of them; with
   * order `call`, all of them, but none due sooner than the run that it follows; with order `strict`, the first of
   * each call that has no other open run. Called when a process starts.
   */
  unblock(handler: string, order: Order): Promise<void>;
  /** Marks an event as done when there is nothing to run for it. */
  finish(sequence: Sequence): Promise<void>;

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
   * The connection for users' own tables, if the database has one that works synchronously. It can be used before
   * `open` and until `close`; using it opens the database.
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
  /** Removing what was kept long enough, and what is to be erased. */
  readonly retention: RetentionStore;

  /** Names of handlers that have stored runs waiting. */
  waitingHandlers(): Promise<readonly string[]>;
  counts(): Promise<StoreCounts>;
}
