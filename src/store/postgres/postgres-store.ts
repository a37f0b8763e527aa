import type { PoolClient } from 'pg';
import type { AsyncInboxDatabase } from '../../dispatch/handler.ts';
import type { Clock } from '../../kit/clock.ts';
import { ClaimedWork, isClaimedSince } from '../shared/claimed-work.ts';
import { joinArrivalOf } from '../shared/run-to-write.ts';
import type { ClaimedEvent, ClaimedRun, HandlerTerms, RunSelection, Settled } from '../claims.ts';
import type { EventRecord } from '../event-record.ts';
import type { Recording, RunEnd, Store, StoreCounts } from '../store.ts';
import { getPinned, pin, unpin } from './admin/pinned-scheme.ts';
import { driftOn } from './admin/postgres-drift.ts';
import { quarantineOn } from './admin/postgres-quarantine.ts';
import { retentionOn } from './admin/postgres-retention.ts';
import type { PostgresTarget } from './connection/target.ts';
import { Session } from './connection/session.ts';
import { inboxDatabase } from './connection/user-database.ts';
import { counts, waitingHandlers } from './query/overview.ts';
import { callsOn } from './query/postgres-calls.ts';
import { eventsOn } from './query/postgres-events.ts';
import { auditOn } from './query/postgres-audit.ts';
import { failuresOn } from './query/postgres-failures.ts';
import { alertsOn } from './query/postgres-alerts.ts';
import { historyOn } from './query/postgres-history.ts';
import { handlersOn } from './query/postgres-handlers.ts';
import { nextDue } from './work/claim.ts';
import { Work } from './work/work.ts';

/** The inbox in a schema of a Postgres database, which any number of processes on any number of machines may share. */
export class PostgresStore implements Store<PoolClient> {
  readonly name: string;
  readonly calls: Store['calls'];
  readonly events: Store['events'];
  readonly quarantine: Store['quarantine'];
  readonly drift: Store['drift'];
  readonly handlers: Store['handlers'];
  readonly audit: Store['audit'];
  readonly failures: Store['failures'];
  readonly history: Store['history'];
  readonly alerts: Store['alerts'];
  readonly retention: Store['retention'];
  readonly database: AsyncInboxDatabase<PoolClient>;
  readonly #session: Session;
  readonly #work: Work;
  readonly #claimed = new ClaimedWork();

  /** `mayBePart`: whether the schema may be the target of an unfinished move. */
  constructor(target: PostgresTarget, clock: Clock, { mayBePart = false } = {}) {
    this.#session = new Session(target, clock);
    this.name = this.#session.name;
    this.#work = new Work(this.#session, mayBePart);
    this.calls = callsOn(this.#session);
    this.events = eventsOn(this.#session);
    this.quarantine = quarantineOn(this.#session);
    this.drift = driftOn(this.#session);
    this.audit = auditOn(this.#session);
    this.history = historyOn(this.#session);
    this.alerts = alertsOn(this.#session);
    this.failures = failuresOn(this.#session);
    this.handlers = handlersOn(this.#session, () => this.#work.processId);
    this.retention = retentionOn(this.#session);
    this.database = inboxDatabase(this.#session);
  }

  open(): Promise<void> {
    return this.#work.open();
  }

  close(): Promise<void> {
    return this.#work.close();
  }

  abandon(): void {
    this.#session.abandon();
  }

  record(record: EventRecord, mayClaim: boolean): Recording {
    const { inTime, recorded } = this.#work.record(record, mayClaim);
    return {
      written: inTime.then(({ sequence }) => (sequence === undefined ? 'duplicate' : 'new')),
      claimed: recorded.then((result) =>
        result?.sequence !== undefined && result.claimedBy !== undefined
          ? this.#claimed.addRecorded(record, result.sequence, result.claimedBy)
          : undefined,
      ),
    };
  }

  probe(): Promise<void> {
    return this.#work.probe();
  }

  isOverloaded(): boolean {
    return this.#work.isOverloaded;
  }

  pinnedScheme(): Promise<string | undefined> {
    return getPinned(this.#session);
  }

  pinScheme(scheme: string, instead?: string): Promise<string> {
    return pin(this.#session, scheme, instead);
  }

  unpinScheme(): Promise<string | undefined> {
    return unpin(this.#session);
  }

  async claimEvents(limit: number): Promise<readonly ClaimedEvent[]> {
    const found = await this.#work.claimEvents(limit);
    return found.map((event) => this.#claimed.addEvent(event));
  }

  async claimRuns(handler: HandlerTerms, selection: RunSelection): Promise<readonly ClaimedRun[]> {
    const found = await this.#work.claimRuns(handler, selection);
    return found.map((run) => this.#claimed.addRun(run, handler));
  }

  runsOf(event: ClaimedEvent, handlers: readonly HandlerTerms[]): readonly ClaimedRun[] {
    return this.#claimed.runsOf(event, handlers);
  }

  mayRun(run: ClaimedRun): boolean {
    return this.#claimed.mayRun(run);
  }

  mayHold(run: ClaimedRun): boolean {
    return isClaimedSince(run, this.#work.processId ?? Infinity);
  }

  requeue(run: ClaimedRun): Promise<Settled> {
    const arrival = joinArrivalOf(run, this.#session.clock.now());
    if (arrival)
      return this.#claimed.detach(run, (isLast) => this.#work.settling.arrive({ ...arrival, isLast }));
    return this.#claimed.store(run, run.attempts, (isLast) => this.#work.settling.requeue(run, isLast));
  }

  nextDue(handler: string, after?: number): Promise<number | undefined> {
    return nextDue(this.#session, handler, after);
  }

  async beginReading(claimed: ClaimedEvent | ClaimedRun): Promise<boolean> {
    const isHeld = await this.#work.settling.beginReading(claimed);
    if (!isHeld) this.#claimed.forget(claimed);
    return isHeld;
  }

  endReading(claimed: ClaimedEvent | ClaimedRun): Promise<void> {
    return this.#work.settling.endReading(claimed);
  }

  async countAttempt(run: ClaimedRun): Promise<ClaimedRun | undefined> {
    const attempts = await this.#claimed.detach(run, (isLast) =>
      this.#work.settling.countAttempt(run, isLast),
    );
    return attempts === undefined ? undefined : this.#claimed.counted(run, attempts);
  }

  settle(run: ClaimedRun, end: RunEnd): Promise<Settled> {
    const write = (isLast: boolean) => this.#work.settling.settle(run, end, isLast);
    if (end.state.kind === 'due') return this.#claimed.store(run, end.attempts, write);
    return this.#claimed.detach(run, write);
  }

  settleWith(run: ClaimedRun, end: RunEnd, effects: (client: PoolClient) => unknown): Promise<Settled> {
    const { settling } = this.#work;
    return this.#claimed.detachWithEffects(
      run,
      (isLast) => settling.settleWith(run, end, isLast, effects),
      () => settling.endClaim(run),
    );
  }

  async unblock(handler: string): Promise<void> {
    while ((await this.#work.settling.unblock(handler)) > 0);
  }

  async finish(event: ClaimedEvent): Promise<void> {
    this.#claimed.forget(event);
    await this.#work.settling.endClaim(event);
  }

  async keepAlive(): Promise<{ readonly takenOver: number }> {
    return { takenOver: await this.#work.liveness.keepAlive() };
  }

  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]> {
    return this.#work.liveness.announce(handlers);
  }

  subscribe(onWork: () => void): () => void {
    return this.#work.liveness.subscribe(onWork);
  }

  waitingHandlers(): Promise<readonly string[]> {
    return waitingHandlers(this.#session);
  }

  counts(): Promise<StoreCounts> {
    return counts(this.#session);
  }
}
