import { resolve } from 'node:path';
import type { InboxDatabase, Order, UserDatabase } from '../../dispatch/handling.ts';
import type { Clock } from '../../kit/clock.ts';
import type { CallStore } from '../call-store.ts';
import type { ClaimOrder, ClaimedEvent, ClaimedRun } from '../claims.ts';
import type { DriftStore } from '../drift-store.ts';
import type { EventRecord } from '../event-record.ts';
import type { EventStore } from '../event-store.ts';
import type { QuarantineStore } from '../quarantine-store.ts';
import type { RetentionStore } from '../retention-store.ts';
import type { RunKey, Sequence, Settled } from '../run-key.ts';
import type { Settlement, Store, StoreCounts } from '../store.ts';
import type { StoreNotice } from '../store-notice.ts';
import { Access } from './access.ts';
import { SqliteDrift } from './admin/sqlite-drift.ts';
import { SqliteQuarantine } from './admin/sqlite-quarantine.ts';
import { SqliteRetention } from './admin/sqlite-retention.ts';
import { Session } from './connection/session.ts';
import { SqliteCalls } from './query/sqlite-calls.ts';
import { SqliteEvents } from './query/sqlite-events.ts';
import { settleWith } from './settle-with.ts';
import type { Processes } from './work/processes.ts';
import { type RecordedRow, eventRow } from './work/record.ts';
import { isOrdinary, settlementRow } from './work/settle.ts';

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
  readonly #access: Access;
  readonly #clock: Clock;
  readonly #subscribers = new Set<() => void>();
  #dataVersion = 0;

  constructor(file: string, clock: Clock) {
    this.name = file;
    this.#clock = clock;
    this.#session = new Session(placeOf(file), clock);
    this.database = this.#session.usersDatabase;
    const access = new Access(this.#session, clock);
    this.#access = access;
    this.calls = new SqliteCalls(access);
    this.events = new SqliteEvents(access);
    this.quarantine = new SqliteQuarantine(access);
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

  async record(
    record: EventRecord,
    handOver?: (claimed: ClaimedEvent) => void,
  ): Promise<'new' | 'duplicate'> {
    const onRecorded = ({ sequence, isClaimed }: RecordedRow): void => {
      if (isClaimed && sequence !== undefined) handOver?.(claimedAtOnce(record, sequence));
    };
    const row = eventRow(record, handOver !== undefined);
    const { sequence } = await this.#session.writer.record(row, onRecorded);
    return sequence === undefined ? 'duplicate' : 'new';
  }

  async probe(): Promise<void> {
    await this.#session.writer.probe();
  }

  isOverloaded(): boolean {
    return this.#session.isOverloaded;
  }

  pinnedScheme(): Promise<string | undefined> {
    return this.#access.read(({ pinnedScheme }) => pinnedScheme.get());
  }

  pinScheme(scheme: string, instead?: string): Promise<string> {
    // A delivery waits for it.
    return this.#session.write('pin', [scheme, instead], { isDelivery: true });
  }

  unpinScheme(): Promise<string | undefined> {
    return this.#session.write('unpin', []);
  }

  claimEvents(
    limit: number,
    handOver?: (claimed: readonly ClaimedEvent[]) => void,
  ): Promise<readonly ClaimedEvent[]> {
    return this.#session.write('claimEvents', [limit], {}, handOver);
  }

  claimRuns(
    handler: string,
    limit: number,
    now: number,
    order: ClaimOrder = { isStrict: false, without: [], isOneACall: false },
  ): Promise<readonly ClaimedRun[]> {
    this.#access.correctDueTimes();
    return this.#session.write('claimRuns', [handler, limit, now, order]);
  }

  async nextDue(handler: string, after?: number): Promise<number | undefined> {
    await this.#session.correctDueTimes();
    return this.#session.opened().verbs.claims.nextDue(handler, after);
  }

  beginReading(sequence: Sequence, handler: string | undefined): Promise<boolean> {
    return this.#session.write('beginReading', [sequence, handler]);
  }

  endReading(sequence: Sequence): Promise<void> {
    return this.#session.write('endReading', [sequence]);
  }

  begin(run: RunKey): Promise<number | undefined> {
    return this.#session.write('begin', [run]);
  }

  async settle(settlement: Settlement): Promise<Settled> {
    const { writer } = this.#session;
    if (isOrdinary(settlement)) return (await writer.endClaim(settlement.sequence)) ? 'settled' : 'lost';
    this.#access.correctDueTimes();
    return writer.run('settle', [settlementRow(settlement, this.#clock.now())]);
  }

  settleWith(settlement: Settlement, effects: (database: UserDatabase) => unknown): Promise<Settled> {
    return settleWith(this.#session, this.#clock, settlement, effects);
  }

  async unblock(handler: string, order: Order): Promise<void> {
    const { unblock } = this.#session.opened().verbs;
    if (unblock.hasAny(handler)) while ((await this.#session.write('unblock', [handler, order])) > 0);
  }

  async finish(sequence: Sequence): Promise<void> {
    await this.#session.writer.endClaim(sequence);
  }

  async keepAlive(): Promise<{ readonly takenOver: number }> {
    const takenOver = await this.#keepAlive();
    this.#notify();
    return { takenOver };
  }

  async #keepAlive(): Promise<number> {
    const askedAt = this.#clock.elapsed();
    await this.#session.agreeOnClock();
    const { processes, claims } = this.#session.opened().verbs;
    // A process writes nothing if it has no claims, found none dead and is watched by none: an idle receiver leaves
    // the disk alone.
    const isAnythingToSay = processes.dead().length > 0 || processes.isWatched() || claims.hasAny();
    if (!isAnythingToSay) return 0;
    const isPrompt = await this.#beat(processes, askedAt);
    // While the database was locked no process could write a heartbeat, so the missed ones are counted anew.
    if (!isPrompt) processes.forgiveMissedHeartbeats();
    const dead = [...processes.dead(), ...(isPrompt ? processes.lookAtSilent() : [])];
    return dead.length === 0 ? 0 : this.#session.write('takeOver', [dead]);
  }

  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]> {
    const { processes } = this.#session.opened().verbs;
    const args = [handlers, processes.countsHeartbeats()] as const;
    return this.#session.write('announce', [...args], { timeout: announceTimeout });
  }

  subscribe(onWork: () => void): () => void {
    this.#subscribers.add(onWork);
    return () => void this.#subscribers.delete(onWork);
  }

  waitingHandlers(): Promise<readonly string[]> {
    return this.#access.read(({ overview }) => overview.waitingHandlers());
  }

  counts(): Promise<StoreCounts> {
    return this.#access.read(({ overview }) => overview.counts());
  }

  /** Another connection has written: SQLite says so, but not which process that was, or what. */
  #notify(): void {
    const version = this.#session.opened().verbs.overview.dataVersion();
    if (version === this.#dataVersion) return;
    this.#dataVersion = version;
    for (const onWork of this.#subscribers) onWork();
  }

  /** Writes a heartbeat; resolves to whether that was possible at once. */
  async #beat(processes: Processes, askedAt: number): Promise<boolean> {
    try {
      await this.#session.write('beat', [this.#clock.now(), processes.countsHeartbeats()]);
    } catch (error) {
      processes.forgiveMissedHeartbeats();
      throw error;
    }
    return this.#clock.elapsed() - askedAt <= trustedWait;
  }
}

/** How long a heartbeat may wait for its write, in milliseconds: longer, and the others could not write theirs either. */
const trustedWait = 1_000;
/** How long a start waits to announce its handlers, in milliseconds: it is not worth holding up for a warning. */
const announceTimeout = 1_000;

/** An event that was claimed as it was written: nothing goes before it. */
function claimedAtOnce(record: EventRecord, sequence: Sequence): ClaimedEvent {
  const { traceId, eventName, callId, receivedAt, headers, body } = record;
  const kept = { sequence, traceId, eventName, callId, receivedAt, headers, body };
  return { ...kept, crashCount: 0, readingCrashes: 0, storedHandlers: [], openRuns: [] };
}

/**
 * Where the file is, for good. The threads open it too, and some of them much later: an app that has moved to another
 * folder by then must not get a second, empty inbox there.
 */
function placeOf(file: string): string {
  const name = file.trim();
  return name === ':memory:' ? name : resolve(name);
}
