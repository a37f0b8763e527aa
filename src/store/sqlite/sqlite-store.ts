import type { InboxDatabase, UserDatabase } from '../../dispatch/handler.ts';
import type { Clock } from '../../kit/clock.ts';
import { claimToRead, joinArrivalOf, runEndRow, runToWrite } from '../shared/run-to-write.ts';
import { ClaimedWork, isClaimedSince, onlyEndsClaim } from '../shared/claimed-work.ts';
import type { ClaimedEvent, ClaimedRun, HandlerTerms, RunSelection, Settled } from '../claims.ts';
import type { EventRecord } from '../event-record.ts';
import type { Recorded } from '../shared/found-work.ts';
import type { Recording, RunEnd, Store, StoreCounts, StoreNotice } from '../store.ts';
import { absoluteFile } from './connection/database-files.ts';
import { Session } from './connection/session.ts';
import { retentionOn } from './admin/sqlite-retention.ts';
import * as parts from './store-parts.ts';
import type { WrittenRows } from './connection/written-rows.ts';
import { rehearse, settleWith } from './settle-with.ts';
import { Liveness } from './work/liveness.ts';
import { eventRow } from './work/record.ts';
import type { ArgsOf, MethodOf, ResultOf } from './connection/statements.ts';

/** The inbox in one SQLite file (or `:memory:`), which several processes on one machine may share. */
export class SqliteStore implements Store {
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
  readonly database: InboxDatabase;
  readonly #session: Session;
  readonly #claimed = new ClaimedWork();
  readonly runsOf: Store['runsOf'] = this.#claimed.runsOf.bind(this.#claimed);
  readonly mayRun: Store['mayRun'] = this.#claimed.mayRun.bind(this.#claimed);
  readonly #liveness: Liveness;

  /** `mayBePart`: whether the file may be the target of an unfinished move. */
  constructor(file: string, clock: Clock, { mayBePart = false } = {}) {
    this.name = file;
    this.#session = new Session(absoluteFile(file), clock, mayBePart);
    this.#liveness = new Liveness(this.#session);
    this.database = this.#session.usersDatabase;
    this.calls = parts.callsOn(this.#session);
    this.events = parts.eventsOn(this.#session);
    this.quarantine = parts.quarantineOn(this.#session);
    this.drift = parts.driftOn(this.#session);
    this.handlers = parts.handlersOn(this.#session);
    this.audit = parts.auditOn(this.#session);
    this.history = parts.historyOn(this.#session);
    this.alerts = parts.alertsOn(this.#session);
    this.failures = parts.failuresOn(this.#session);
    this.retention = retentionOn(this.#session);
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
    this.#session.isAbandoned = true;
  }

  record(record: EventRecord, mayClaim: boolean): Recording {
    const written = Promise.withResolvers<'new' | 'duplicate'>();
    const claimed = Promise.withResolvers<ClaimedEvent | undefined>();
    const onWritten = ({ sequence, claimedBy }: Recorded) => {
      const isClaimed = sequence !== undefined && claimedBy !== undefined;
      // At once, not in a microtask: the watch for runs that go before the claim must begin in the order of the writes.
      claimed.resolve(isClaimed ? this.#claimed.addRecorded(record, sequence, claimedBy) : undefined);
      written.resolve(sequence === undefined ? 'duplicate' : 'new');
    };
    const onFailed = (error: unknown) => {
      claimed.resolve(undefined);
      written.reject(error);
    };
    try {
      const item = eventRow(record, mayClaim);
      const { byteLength: bytes } = item.body;
      const onGivenUp = written.reject;
      this.#session.requireWriter().addEvent({ item, bytes, onWritten, onFailed, onGivenUp });
    } catch (error) {
      onFailed(error);
    }
    return { written: written.promise, claimed: claimed.promise };
  }

  async probe(): Promise<void> {
    await this.#session.write('disk', 'probe', []);
  }

  isOverloaded(): boolean {
    return this.#session.writer?.isOverloaded ?? false;
  }

  pinnedScheme(): Promise<string | undefined> {
    return this.#session.read(({ pinnedScheme }) => pinnedScheme.get());
  }

  pinScheme(scheme: string, instead?: string): Promise<string> {
    return this.#session.write('pinnedScheme', 'pin', [scheme, instead], { isAwaited: true });
  }

  unpinScheme(): Promise<string | undefined> {
    return this.#session.write('pinnedScheme', 'unpin', []);
  }

  claimEvents(limit: number): Promise<readonly ClaimedEvent[]> {
    return this.#inOrder('events', [limit], (found) => found.map((event) => this.#claimed.addEvent(event)));
  }

  claimRuns(handler: HandlerTerms, selection: RunSelection): Promise<readonly ClaimedRun[]> {
    this.#session.clockJumps.requestCorrection();
    const { name, order } = handler;
    return this.#inOrder('runs', [name, order === 'strict', selection], (found) =>
      found.map((run) => this.#claimed.addRun(run, handler)),
    );
  }

  mayHold(run: ClaimedRun): boolean {
    return isClaimedSince(run, this.#session.opened().statements.processes.id);
  }

  requeue(run: ClaimedRun): Promise<Settled> {
    this.#session.clockJumps.requestCorrection();
    const arrival = joinArrivalOf(run, this.#session.clock.now());
    if (arrival)
      return this.#claimed.detach(run, (isLast) =>
        this.#session.write('joins', 'arrive', [{ ...arrival, isLast }]),
      );
    return this.#claimed.store(run, run.attempts, (isLast) =>
      this.#session.write('settling', 'requeue', [runToWrite(run, isLast, this.#session.clock.now())]),
    );
  }

  async nextDue(handler: string, after?: number): Promise<number | undefined> {
    await this.#session.clockJumps.correct();
    return this.#session.opened().statements.claims.nextDue(handler, after);
  }

  async beginReading(claimed: ClaimedEvent | ClaimedRun): Promise<boolean> {
    const isHeld = await this.#session.write('settling', 'beginReading', [claimToRead(claimed)]);
    if (!isHeld) this.#claimed.forget(claimed);
    return isHeld;
  }

  endReading(claimed: ClaimedEvent | ClaimedRun): Promise<void> {
    return this.#session.write('settling', 'endReading', [claimToRead(claimed)]);
  }

  async countAttempt(run: ClaimedRun): Promise<ClaimedRun | undefined> {
    const attempts = await this.#claimed.detach(run, (isLast) =>
      this.#session.write('settling', 'countAttempt', [runToWrite(run, isLast, this.#session.clock.now())]),
    );
    return attempts === undefined ? undefined : this.#claimed.counted(run, attempts);
  }

  settle(run: ClaimedRun, end: RunEnd): Promise<Settled> {
    const write = async (isLast: boolean): Promise<Settled> => {
      if (onlyEndsClaim(run, end, isLast)) return (await this.#session.endClaim(run)) ? 'settled' : 'lost';
      const now = this.#session.clock.now();
      this.#session.clockJumps.requestCorrection();
      return this.#session.write('settling', 'settle', [runEndRow(run, end, isLast, now)]);
    };
    if (end.state.kind === 'due') return this.#claimed.store(run, end.attempts, write);
    return this.#claimed.detach(run, write);
  }

  settleWith(run: ClaimedRun, end: RunEnd, effects: (database: UserDatabase) => unknown): Promise<Settled> {
    return settleWith(this.#session, this.#claimed, run, end, effects);
  }

  /** Runs users' effects, undoes them, and resolves to what they would have written: for a backtest on a copy. */
  rehearse(effects: (database: UserDatabase) => unknown): Promise<readonly WrittenRows[]> {
    return rehearse(this.#session, effects);
  }

  async unblock(handler: string): Promise<void> {
    const { unblock } = this.#session.opened().statements;
    if (unblock.hasAny(handler)) while ((await this.#session.write('unblock', 'some', [handler])) > 0);
  }

  async finish(event: ClaimedEvent): Promise<void> {
    this.#claimed.forget(event);
    await this.#session.endClaim(event);
  }

  async keepAlive(): Promise<{ readonly takenOver: number }> {
    return { takenOver: await this.#liveness.keepAlive() };
  }

  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]> {
    return this.#session.write('processes', 'announce', [handlers]);
  }

  subscribe(onWork: () => void): () => void {
    return this.#liveness.subscribe(onWork);
  }

  waitingHandlers(): Promise<readonly string[]> {
    return this.#session.read(({ overview }) => overview.waitingHandlers());
  }

  counts(): Promise<StoreCounts> {
    return this.#session.read(({ overview }) => overview.counts());
  }

  /** Resolves inside the writer's callback, not a microtask later: callers get claims in the order of the writes. */
  #inOrder<M extends MethodOf<'claims'>, T>(
    method: M,
    args: ArgsOf<'claims', M>,
    valueOf: (result: ResultOf<'claims', M>) => T,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const onWritten = (result: ResultOf<'claims', M>) => resolve(valueOf(result));
      this.#session.write('claims', method, args, { onWritten }).catch(reject);
    });
  }
}
