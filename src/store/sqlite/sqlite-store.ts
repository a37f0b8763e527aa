import { resolve } from 'node:path';
import type { InboxDatabase, Order, UserDatabase } from '../../dispatch/handling.ts';
import type { Clock } from '../../kit/clock.ts';
import type { CallStore } from '../call-store.ts';
import type { DriftStore } from '../drift-store.ts';
import type { EventRecord } from '../event-record.ts';
import type { EventStore } from '../event-store.ts';
import type { QuarantineStore } from '../quarantine-store.ts';
import type { RetentionStore } from '../retention-store.ts';
import type { HeldWork, RunKey, Sequence, Settled } from '../run-key.ts';
import type { ClaimOrder, ClaimedEvent, ClaimedRun } from '../claims.ts';
import type { Settlement, Store, StoreCounts } from '../store.ts';
import type { StoreNotice } from '../store-notice.ts';
import { recordTimeout } from './writer/commit-group.ts';
import { inTime } from './connection/in-time.ts';
import { keepAlive } from './work/keep-alive.ts';
import type { OpenInbox } from './connection/open-inbox.ts';
import { pin, pinnedScheme, unpin } from './admin/pinned-scheme.ts';
import { readNoted } from './read-noted.ts';
import { Session } from './connection/session.ts';
import { settlementRow } from './work/settle.ts';
import { type Access, SqliteCalls } from './query/sqlite-calls.ts';
import { SqliteDrift } from './admin/sqlite-drift.ts';
import { SqliteEvents } from './query/sqlite-events.ts';
import { SqliteQuarantine } from './admin/sqlite-quarantine.ts';
import { SqliteRetention } from './admin/sqlite-retention.ts';
import { lent } from './connection/user-database.ts';

/** The inbox in one SQLite file (or `:memory:`), which several processes on one machine may share. */
export class SqliteStore implements Store {
  readonly name: string;
  readonly calls: CallStore;
  readonly events: EventStore;
  readonly quarantine: QuarantineStore;
  readonly drift: DriftStore;
  readonly retention: RetentionStore;
  readonly database: InboxDatabase;
  readonly #session: Session;
  readonly #clock: Clock;
  #dataVersion = 0;

  constructor(file: string, clock: Clock) {
    this.name = file;
    this.#clock = clock;
    this.#session = new Session(placeOf(file), clock);
    this.database = this.#session.usersDatabase;
    const access: Access = {
      read: (operation) => asPromise(() => this.#session.read(operation)),
      outside: (operation) => asPromise(() => operation(this.#session.opened())),
      write: (operation, limits) => this.#session.write(operation, limits),
    };
    this.calls = new SqliteCalls(access);
    this.events = new SqliteEvents(access);
    this.quarantine = new SqliteQuarantine(access, (record) => this.#session.writes.keep(record));
    this.drift = new SqliteDrift(access);
    this.retention = new SqliteRetention(access);
  }

  reportTo(report: (notice: StoreNotice) => void): void {
    this.#session.reportTo(report);
  }

  open(): Promise<void> {
    return this.#session.open();
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  abandon(): void {
    this.#session.abandon();
  }

  record(record: EventRecord, handOver?: (claimed: ClaimedEvent) => void): Promise<'new' | 'duplicate'> {
    return this.#session.writes.record(record, handOver);
  }

  async probe(): Promise<void> {
    await this.#session.writes.probe();
  }

  isOverloaded(): boolean {
    return this.#session.writes.isOverloaded;
  }

  pinnedScheme(): Promise<string | undefined> {
    return asPromise(() => pinnedScheme(this.#session.opened()));
  }

  pinScheme(scheme: string, instead?: string): Promise<string> {
    const pinned = this.#session.write((inbox) => pin(inbox, scheme, instead), { timeout: recordTimeout });
    return inTime(pinned, this.#clock);
  }

  unpinScheme(): Promise<string | undefined> {
    return this.#session.write(unpin);
  }

  claimEvents(
    limit: number,
    handOver?: (claimed: readonly ClaimedEvent[]) => void,
  ): Promise<readonly ClaimedEvent[]> {
    return this.#session.write(({ claims }) => claims.events(limit), { ...claim, onCommitted: handOver });
  }

  claimRuns(
    handler: string,
    limit: number,
    now: number,
    order: ClaimOrder = { isStrict: false, without: [], isOneACall: false },
  ): Promise<readonly ClaimedRun[]> {
    return this.#session.write(({ claims }) => claims.runs(handler, limit, now, order), claim);
  }

  releaseUnheld(held: () => HeldWork): Promise<number> {
    return this.#session.write(({ claims }) => claims.releaseUnheld(held), claim);
  }

  nextDue(handler: string, after?: number): Promise<number | undefined> {
    return asPromise(() => this.#session.opened().claims.nextDue(handler, after));
  }

  readNoted<T>(
    claim: Pick<RunKey, 'sequence'> & { readonly handler: string | undefined },
    read: () => T | Promise<T>,
  ): Promise<{ readonly value: T } | undefined> {
    return readNoted(this.#session, claim, read);
  }

  begin(run: RunKey): Promise<number | undefined> {
    return this.#session.write(({ settling }) => settling.begin(run), claim);
  }

  settle(settlement: Settlement): Promise<Settled> {
    return this.#session.writes.settle(settlement);
  }

  settleWith(settlement: Settlement, effects: (database: UserDatabase) => unknown): Promise<Settled> {
    // Not `session.write`: what the user's effects throw may be about a disk of theirs.
    return this.#session.writes.here(
      (inbox) => {
        const result = inbox.settling.settle(settlementRow(settlement, inbox.dueTime));
        // The claim is no longer ours: the process that took the run over writes the effects, not this one.
        if (result === 'lost') return result;
        const loan = lent(inbox);
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
    const step = ({ unblock }: OpenInbox): number =>
      order === 'strict' ? unblock.first(handler) : unblock.all(handler, order === 'call');
    if (this.#session.opened().unblock.hasAny(handler)) while ((await this.#session.write(step)) > 0);
  }

  finish(sequence: Sequence): Promise<void> {
    return this.#session.writes.finish(sequence);
  }

  async keepAlive(): Promise<{ readonly takenOver: number }> {
    return { takenOver: await keepAlive(this.#session, this.#clock) };
  }

  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]> {
    return this.#session.write(({ processes }) => processes.announce(handlers), announcement);
  }

  changedElsewhere(): boolean {
    const version = this.#session.opened().overview.dataVersion();
    const changed = version !== this.#dataVersion;
    this.#dataVersion = version;
    return changed;
  }

  waitingHandlers(): Promise<readonly string[]> {
    return asPromise(() => this.#session.opened().overview.waitingHandlers());
  }

  counts(): Promise<StoreCounts> {
    return asPromise(() => this.#session.read(({ overview }) => overview.counts()));
  }
}

/**
 * Limits of the writes that take claims or give them back, or tell what is begun under them. Waiting for the disk would
 * only make it longer that a process which is killed by others looks as if the event had killed it.
 */
const claim = { endsWithProcess: true };
/** Limits of telling the handlers: a start waits for it, and is not worth holding up for a warning. */
const announcement = { endsWithProcess: true, timeout: 1_000 };

/**
 * Where the file is, for good. The threads open it too, and some of them much later: an app that has moved to another
 * folder by then must not get a second, empty inbox there.
 */
function placeOf(file: string): string {
  const name = file.trim();
  return name === ':memory:' ? name : resolve(name);
}

/**
 * Runs what the driver does synchronously, but answers with a promise, as the contract does: an error rejects the
 * promise and is not thrown at the caller.
 */
async function asPromise<T>(work: () => T): Promise<T> {
  return work();
}
