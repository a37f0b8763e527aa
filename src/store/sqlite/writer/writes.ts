import type { Clock } from '../../../kit/clock.ts';
import type { EventRecord } from '../../event-record.ts';
import type { QuarantineRecord, Quarantined } from '../../quarantine-store.ts';
import type { Sequence, Settled } from '../../run-key.ts';
import type { ClaimedEvent } from '../../claims.ts';
import type { Settlement } from '../../store.ts';
import { type GroupTies, type WriteLimits, recordTimeout } from './commit-group.ts';
import { type WriteResult, probe, recordedOf, settled } from './commit-message.ts';
import { CommitThread } from './commit-thread.ts';
import type { FileGuard } from '../connection/file-guard.ts';
import { type Kept, quarantineRow } from '../admin/keep-delivery.ts';
import type { OpenInbox } from '../connection/open-inbox.ts';
import { type EventRow, type RecordedRow, eventRow } from '../work/record.ts';
import { type SettlementRow, isOrdinary, settlementRow } from '../work/settle.ts';
import { MainTurn } from './turn.ts';

/**
 * Decides where writes go. What every event needs, its record and its end, goes to the commit thread, and so do the
 * deliveries for the quarantine, which may be large and many; everything else goes to the main thread's group. A database in memory belongs to one connection, so the main thread makes all
 * writes to it.
 */
export class Writes implements GroupTies {
  readonly turn = new MainTurn();
  readonly files: FileGuard;
  readonly #file: string;
  readonly #clock: Clock;
  /** @throws unless the database is open */
  readonly #opened: () => OpenInbox;
  #thread: CommitThread | undefined;
  #isClosed = false;

  constructor(file: string, clock: Clock, opened: () => OpenInbox, files: FileGuard) {
    this.files = files;
    this.#file = file;
    this.#clock = clock;
    this.#opened = opened;
  }

  /** Runs a function when the main thread may write: it then knows of all that the commit thread has written. */
  readonly inTurn = (work: () => void): void =>
    this.turn.whenMine(() => {
      this.#thread?.hearAll();
      work();
    });

  /** The commit thread syncs what the main thread writes, as long as there is one. */
  readonly synced = (): (() => Promise<void>) | undefined => {
    const thread = this.#thread;
    return thread && !thread.isGone && !this.#isClosed ? () => thread.synced() : undefined;
  };

  /** Resolves when the commit thread can write. */
  async ready(): Promise<void> {
    await this.#committer(this.#opened())?.ready();
  }

  /** Whether an event that came now would have to wait for longer than its sender does. */
  get isOverloaded(): boolean {
    return this.#thread?.isOverloaded ?? false;
  }

  /** Ends the commit thread when all that it was given is written. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.close();
  }

  /** From now on, writes that would have to wait for a lock fail. */
  abandon(): void {
    this.#thread?.abandon();
  }

  /** Runs `operation` in the next commit of the main thread. */
  async here<T>(operation: (inbox: OpenInbox) => T, limits?: WriteLimits<T>): Promise<T> {
    const inbox = this.#opened();
    return inbox.group.write(() => operation(inbox), limits);
  }

  record(
    record: EventRecord,
    handOver: ((claimed: ClaimedEvent) => void) | undefined,
  ): Promise<'new' | 'duplicate'> {
    const row = eventRow(record, handOver !== undefined);
    const bytes = record.body.byteLength;
    // Not through the promise: claimed events are handed over in the order of the commits, before anything else goes
    // on.
    const onRecorded = ({ sequence, isClaimed }: RecordedRow): void => {
      if (isClaimed && sequence !== undefined) handOver?.(claimedAtOnce(record, sequence));
    };
    const thread = this.#committer(this.#opened());
    return thread ? byThread(thread, row, bytes, onRecorded) : this.#recordHere(row, bytes, onRecorded);
  }

  /** Keeps a delivery in quarantine. */
  keep(record: QuarantineRecord): Promise<Quarantined> {
    const row = quarantineRow(record);
    const bytes = row.body.byteLength;
    const thread = this.#committer(this.#opened());
    if (!thread) return this.here(({ keepDelivery }) => keepDelivery(row), { timeout: recordTimeout, bytes });
    return new Promise((resolve, reject) => {
      thread.record(row, bytes, (kept) => resolve(kept as Kept), reject);
    });
  }

  settle(settlement: Settlement): Promise<Settled> {
    const inbox = this.#opened();
    const thread = this.#committer(inbox);
    if (thread && isOrdinary(settlement)) return settledByThread(thread, settlement.sequence);
    const row = settlementRow(settlement, inbox.dueTime);
    return thread ? settledByThread(thread, row) : this.here(({ settling }) => settling.settle(row));
  }

  async finish(sequence: Sequence): Promise<void> {
    const thread = this.#committer(this.#opened());
    await (thread
      ? settledByThread(thread, sequence)
      : this.here(({ settling }) => settling.endClaim(sequence)));
  }

  /** Writes as `record` does, and leaves nothing behind. */
  async probe(): Promise<void> {
    const thread = this.#committer(this.#opened());
    await (thread ? settledByThread(thread, probe) : this.here(() => {}));
  }

  async #recordHere(
    row: EventRow,
    bytes: number,
    onCommitted: (recorded: RecordedRow) => void,
  ): Promise<'new' | 'duplicate'> {
    const limits = { timeout: recordTimeout, bytes, onCommitted };
    return statusOf(await this.here((inbox) => inbox.recordOne(row), limits));
  }

  /** @throws RingbackError `database_replaced` */
  #committer({ files, processes }: OpenInbox): CommitThread | undefined {
    if (!files) return undefined;
    if (this.files.problem) throw this.files.problem;
    // A thread that has ended by itself is replaced; the writes that it had not answered have been reported as
    // failed.
    if (!this.#thread || (this.#thread.isGone && !this.#isClosed)) {
      this.files.check();
      const { id, identity } = processes;
      const data = { file: this.#file, files: files.ids, process: id, identity };
      this.#thread = new CommitThread(data, this.turn, this.#clock, (found) => this.files.lose(found));
    }
    return this.#thread;
  }
}

/** An event that was claimed as it was written: nothing goes before it. */
function claimedAtOnce(record: EventRecord, sequence: Sequence): ClaimedEvent {
  const { traceId, eventName, callId, receivedAt, headers, body } = record;
  const kept = { sequence, traceId, eventName, callId, receivedAt, headers, body };
  return { ...kept, takeovers: 0, readingCrashes: 0, storedHandlers: [], openRuns: [] };
}

function byThread(
  thread: CommitThread,
  row: EventRow,
  bytes: number,
  onRecorded: (recorded: RecordedRow) => void,
): Promise<'new' | 'duplicate'> {
  return new Promise((resolve, reject) => {
    const onWritten = (code: WriteResult): void => {
      const recorded = recordedOf(code as number);
      onRecorded(recorded);
      resolve(statusOf(recorded));
    };
    thread.record(row, bytes, onWritten, reject);
  });
}

function statusOf({ sequence }: RecordedRow): 'new' | 'duplicate' {
  return sequence === undefined ? 'duplicate' : 'new';
}

function settledByThread(
  thread: CommitThread,
  item: SettlementRow | Sequence | typeof probe,
): Promise<Settled> {
  return new Promise((resolve, reject) => {
    thread.settle(item, (code) => resolve(code === settled ? 'settled' : 'lost'), reject);
  });
}
