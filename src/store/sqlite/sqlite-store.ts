import type { InboxDatabase, Order, UserDatabase } from '../../handling.ts';
import type { Clock } from '../../kit/clock.ts';
import type { CallStore } from '../call-store.ts';
import type { DriftStore } from '../drift-store.ts';
import type { EventRecord } from '../event-record.ts';
import type { EventStore } from '../event-store.ts';
import type { QuarantineStore } from '../quarantine-store.ts';
import type { RetentionStore } from '../retention-store.ts';
import type { HeldWork, RunKey, Sequence, Settled } from '../run-key.ts';
import type { ClaimOrder, ClaimedEvent, ClaimedRun, Settlement, Store, StoreCounts } from '../store.ts';
import { type WriteLimits, recordPatience } from './commit-group.ts';
import { inTransaction } from './in-transaction.ts';
import { type Parts, openParts } from './parts.ts';
import { settlementRow } from './settle.ts';
import { type Access, SqliteCalls } from './sqlite-calls.ts';
import { SqliteDrift } from './sqlite-drift.ts';
import { SqliteEvents } from './sqlite-events.ts';
import { SqliteQuarantine } from './sqlite-quarantine.ts';
import { SqliteRetention } from './sqlite-retention.ts';
import { inboxDatabase, lent } from './user-database.ts';
import { Writes } from './writes.ts';

/** How long closing waits for a locked database, in milliseconds. */
const closePatience = 5_000;
/** How soon what could not be given back in closing is given back, in milliseconds. */
const leavePause = 1_000;
/** How long users' own writes wait for a locked database, in milliseconds. */
const usersPatience = 1_000;
/** How long a write may wait so that what was read before it still counts, in milliseconds. */
const trustedWait = 1_000;

/** The inbox in one SQLite file (or `:memory:`), which several processes on one machine may share. */
export class SqliteStore implements Store {
  readonly name: string;
  readonly calls: CallStore;
  readonly events: EventStore;
  readonly quarantine: QuarantineStore;
  readonly drift: DriftStore;
  readonly retention: RetentionStore;
  readonly database: InboxDatabase = inboxDatabase({
    opened: () => this.#connected().database,
    inTurn: (work) => this.#writes.turn.now(() => this.#patiently(work)),
  });
  readonly #writes: Writes;
  readonly #clock: Clock;
  #parts: Parts | undefined;
  #isOpen = false;
  #isClosed = false;
  #dataVersion = 0;

  constructor(file: string, clock: Clock) {
    this.name = file;
    this.#clock = clock;
    this.#writes = new Writes(file, clock, () => this.#opened());
    const access: Access = {
      read: (operation) => asPromise(() => this.#read(operation)),
      outside: (operation) => asPromise(() => operation(this.#opened())),
      write: (operation, limits) => this.#write(operation, limits),
    };
    this.calls = new SqliteCalls(access);
    this.events = new SqliteEvents(access);
    this.quarantine = new SqliteQuarantine(access);
    this.drift = new SqliteDrift(access);
    this.retention = new SqliteRetention(access);
  }

  async open(): Promise<void> {
    const { database } = this.#connected();
    // From here on a locked database is waited for off the event loop, in the commit group.
    database.pragma('busy_timeout = 0');
    this.#isOpen = true;
    await this.#write(({ processes }) => processes.join());
    await this.#writes.ready();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const parts = this.#parts;
    if (!parts) return;
    await this.#writes.close();
    // What the app has begun by hand and left open would keep everybody from writing.
    if (parts.database.inTransaction) parts.database.exec('rollback');
    const hasLeft = await this.#write(leave, { patience: closePatience }).then(
      () => true,
      () => false,
    );
    await parts.group.drained();
    this.#parts = undefined;
    if (hasLeft) parts.database.close();
    else this.#leaveLater(parts);
  }

  /**
   * A full disk, or a lock that nobody gives back. Were this process to end, others would take over what it holds; as long
   * as it lives they leave that alone, and so would a receiver that is started in it later.
   */
  #leaveLater(parts: Parts): void {
    this.#clock.after(leavePause, () => {
      try {
        inTransaction(parts.database, () => leave(parts), { syncs: true });
        parts.database.close();
      } catch {
        this.#leaveLater(parts);
      }
    });
  }

  abandon(): void {
    this.#writes.abandon();
    this.#parts?.group.abandon();
  }

  record(record: EventRecord, handOver?: (claimed: ClaimedEvent) => void): Promise<'new' | 'duplicate'> {
    return this.#writes.record(record, handOver);
  }

  pinnedLayout(): Promise<string | undefined> {
    return asPromise(() => this.#opened().database.prepare(selectLayout).pluck().get() as string | undefined);
  }

  pinLayout(layout: string): Promise<string> {
    return this.#write(
      ({ database }) => {
        database.prepare("insert into settings values ('layout', ?) on conflict do nothing").run(layout);
        return database.prepare(selectLayout).pluck().get() as string;
      },
      { patience: recordPatience },
    );
  }

  unpinLayout(): Promise<string | undefined> {
    return this.#write(({ database }) => database.prepare(deleteLayout).pluck().get() as string | undefined);
  }

  claimEvents(
    limit: number,
    handOver?: (claimed: readonly ClaimedEvent[]) => void,
  ): Promise<readonly ClaimedEvent[]> {
    return this.#write(({ claims }) => claims.events(limit), { ...claim, onCommitted: handOver });
  }

  claimRuns(
    handler: string,
    limit: number,
    now: number,
    order: ClaimOrder = { isStrict: false, without: [], isOneACall: false },
  ): Promise<readonly ClaimedRun[]> {
    return this.#write(({ claims }) => claims.runs(handler, limit, now, order), claim);
  }

  releaseUnheld(held: () => HeldWork): Promise<number> {
    return this.#write(({ claims }) => claims.releaseUnheld(held), claim);
  }

  nextDue(handler: string, after?: number): Promise<number | undefined> {
    return asPromise(() => this.#opened().claims.nextDue(handler, after));
  }

  begin(run: RunKey): Promise<number | undefined> {
    return this.#write(({ settling }) => settling.begin(run));
  }

  settle(settlement: Settlement): Promise<Settled> {
    return this.#writes.settle(settlement);
  }

  settleWith(settlement: Settlement, effects: (database: UserDatabase) => unknown): Promise<Settled> {
    return this.#write(
      ({ database, settling: runs, dueTime }) => {
        const result = runs.settle(settlementRow(settlement, dueTime));
        // Not ours any more: the process that took the run over writes its effects, not this one.
        if (result === 'lost') return result;
        const loan = lent(database);
        try {
          effects(loan.database);
        } finally {
          loan.end();
        }
        return result;
      },
      { alone: true },
    );
  }

  async unblock(handler: string, order: Order): Promise<void> {
    const step = ({ unblock }: Parts): number =>
      order === 'strict' ? unblock.first(handler) : unblock.all(handler, order === 'call');
    if (this.#opened().unblock.hasAny(handler)) while ((await this.#write(step)) > 0);
  }

  finish(sequence: Sequence): Promise<void> {
    return this.#writes.finish(sequence);
  }

  async keepAlive(): Promise<{ readonly takenOver: number }> {
    const { processes, claims, dueTime } = this.#opened();
    if (dueTime.isDisputed()) dueTime.accept(await this.#write(() => dueTime.propose()));
    const dead = processes.dead();
    // A process that holds nothing and finds nothing writes nothing: an idle receiver leaves the disk alone.
    if (dead.length === 0 && !claims.hasAny()) return { takenOver: 0 };
    const askedAt = this.#clock.elapsed();
    return this.#write(() => {
      processes.beat();
      // While the database was locked nobody could beat: who is dead is asked again when all have had their turn.
      if (this.#clock.elapsed() - askedAt > trustedWait) return { takenOver: 0 };
      let takenOver = 0;
      for (const id of dead) {
        takenOver += claims.releaseAll(id, { died: true });
        processes.remove(id);
      }
      return { takenOver };
    });
  }

  changedElsewhere(): boolean {
    const version = this.#opened().database.pragma('data_version', { simple: true }) as number;
    const changed = version !== this.#dataVersion;
    this.#dataVersion = version;
    return changed;
  }

  waitingHandlers(): Promise<readonly string[]> {
    return asPromise(() => this.#opened().overview.waitingHandlers());
  }

  counts(): Promise<StoreCounts> {
    return asPromise(() => this.#read(({ overview }) => overview.counts()));
  }

  /** In one transaction: each alone would look at the file anew, and read again what it knew as soon as others wrote. */
  #read<T>(operation: (parts: Parts) => T): T {
    const parts = this.#opened();
    return parts.database.transaction(() => operation(parts)).deferred();
  }

  #write<T>(operation: (parts: Parts) => T, limits?: WriteLimits<T>): Promise<T> {
    return this.#writes.here(operation, limits);
  }

  /** Users' own tables must be there before the first handler runs, so they may ask for the connection first. */
  #connected(): Parts {
    if (!this.#isClosed) this.#parts ??= openParts(this.name, this.#clock, this.#writes);
    return this.#opened();
  }

  /** What users write outside of `ctx.commit` can't wait off the event loop for another process, or receiver. */
  #patiently<T>(work: () => T): T {
    // Before the start the connection waits by itself.
    const database = this.#isOpen ? this.#parts?.database : undefined;
    database?.pragma(`busy_timeout = ${usersPatience}`);
    try {
      return work();
    } finally {
      if (database?.open) database.pragma('busy_timeout = 0');
    }
  }

  #opened(): Parts {
    if (!this.#parts) throw new Error(`The database ${this.name} is not open`);
    return this.#parts;
  }
}

/** Claims, taken or given back. */
const claim = { endsWithProcess: true };

/** Gives back what this process holds, and takes its leave of the others. */
function leave({ claims, processes, dueTime }: Parts): void {
  dueTime.propose();
  claims.releaseAll(processes.id, { died: false });
  processes.remove(processes.id);
}

const selectLayout = "select value from settings where name = 'layout'";
const deleteLayout = "delete from settings where name = 'layout' returning value";

/** What the driver does at once, as the contract promises it: later, and never thrown where nobody looks. */
async function asPromise<T>(work: () => T): Promise<T> {
  return work();
}
