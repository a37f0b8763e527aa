/**
 * The way of a delivery on Postgres:
 *
 *   this process                                                    database
 *
 *   PostgresStore.record
 *   → record-queue.ts: groups what comes in one turn of the event
 *     loop; two groups are in flight at most
 *   → owned-events.ts: notes which events this process then owns
 *   → claim-ends.ts: adds the ends of claims that are waiting
 *   → record.ts ───────────────────── one statement ─────────────► record_events()
 *                                                                    advisory locks: no recovery goes on, and nobody
 *                                                                      takes this process for dead
 *                                                                    ended: the claims that end
 *                                                                    identities: which events are new
 *                                                                    advisory locks: which calls are free
 *                                                                    events: the rows, with the owner if claimed
 *                                                                    bodies
 *                                                                    waiting: what is not claimed
 *     new or duplicate, claimed or not ◄─────────────────────────── committed
 *   → the answer; then the runs of what is claimed
 *
 *   PostgresStore.settle
 *   → an ordinary end (`isOrdinary`): claim-ends.ts ─────────────► record_events(): ended, with the next group; or
 *                                                                    end_claims(): ended, claims, if there is none
 *   → any other: settle.ts ────────────── a transaction ──────────► runs; with the event's last run, the end of its claim
 *
 *   PostgresStore.claimEvents, when lanes have room again
 *   → claim.ts ────────────────────────── a transaction ──────────► claim_events(): from waiting into claims
 *   PostgresStore.claimRuns, when a run is due, such as a retry
 *   → claim.ts ────────────────────────── a transaction ──────────► runs: claimed_by
 *
 *   PostgresStore.keepAlive, every two seconds: liveness.ts
 *   → processes.ts: heartbeat ───────────────────────────────────► processes: heartbeat_at, ended_up_to
 *   → owned-events.ts: recover, after an answer that was lost ───► what it owns without knowing it, and what it may not work
 *                                                                    on: from owned and claims into waiting
 *   → processes.ts: takeOver ────────────────────────────────────► what a process had claimed that is dead or leaves: claims
 *                                                                    and owned into waiting; runs due; its row goes;
 *                                                                    crash_counts, if it is dead
 *
 * A claim on an event has one of two forms. An event is *owned* if the write that recorded it also claimed it: it has an
 * `owner`, and neither a range in `ended` nor the owner's `ended_up_to` (but for `still_owned`) says that the claim has ended.
 * An event that waited first has a row in `claims`. "Claimed" means either. A run that has a row is claimed by itself: `runs.claimed_by`.
 *
 * A *process* is a receiver's row in `processes`; one that was taken for dead enters again under another id. To *take over* is to
 * put back into the inbox what a dead process had claimed; to *give back*, what one has claimed oneself. A process whose
 * recording was not answered is *uncertain*: it may own events that it doesn't know of, and claims no events until it has
 * *recovered* them.
 *
 * What keeps the order of a call, from the socket to the handler:
 *   `RecordQueue`       events of one call are never in both groups in flight
 *   `free_calls`        a call's lock keeps two processes from claiming of it at the same moment
 *   `busy_calls`        an event waits if an earlier one of its call does, or is another process's
 *   `claim_events`      of each call in the order of arrival
 *   `AnswersInFlight`   what is claimed is given out after what was being recorded, in whichever order the answers come
 *   `RequeueOrder`      a run that goes back sees the earlier one that goes back with it
 *   dispatch            `PlacingOrder`, `CallOrder` (../../shared) and the lanes
 */
import type { PoolClient } from 'pg';
import type { Order } from '../../../dispatch/handler.ts';
import type { Clock } from '../../../kit/clock.ts';
import { type FoundEvent, type FoundRun, readingKeyOf } from '../../shared/claimed-work.ts';
import { isOrdinary } from '../../shared/run-to-write.ts';
import type { ClaimedEvent, ClaimedRun, HandlerTerms, RunSelection, Settled } from '../../claims.ts';
import type { EventRecord } from '../../event-record.ts';
import type { Sequence } from '../../sequence.ts';
import type { RunEnd } from '../../store.ts';
import { toProblem } from '../connection/opening-cause.ts';
import { requireReadCommitted } from '../connection/isolation.ts';
import { isInvalidData } from '../connection/statement.ts';
import { migrate } from '../connection/migrations/index.ts';
import type { Session } from '../connection/session.ts';
import { toText } from '../connection/text.ts';
import type { LendingTransaction } from '../connection/transaction.ts';
import { AnswersInFlight } from './answers-in-flight.ts';
import { ClaimEnds } from './claim-ends.ts';
import { claimEvents, claimRuns, nextDue } from './claim.ts';
import {
  type EventToRecord,
  type ReconciledKeys,
  type Recorded,
  type RecordingProcess,
  recordGroup,
  recordReconciled,
} from './record.ts';
import { holdsEvent, holdsRun } from './holding.ts';
import { type JoinArrival, arrive } from './joins.ts';
import { Liveness } from './liveness.ts';
import { OwnedEvents } from './owned-events.ts';
import { Processes } from './processes.ts';
import { RequeueOrder } from './requeue-order.ts';
import { type QueuedRecording, RecordQueue } from './record-queue.ts';
import { requiredClaimerOf, runRow, settlementRow } from './run-row.ts';
import { DeliveriesGoOn, Reconciling } from './reconciling.ts';
import { lend } from '../connection/user-database.ts';
import { countAttempt, requeue, settle } from './settle.ts';
import { unblock } from './unblock.ts';

/** What this process records, claims, and settles. */
export class Work {
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #processes: Processes;
  readonly #owned: OwnedEvents;
  readonly #ends: ClaimEnds;
  readonly #queue: RecordQueue;
  readonly #liveness: Liveness;
  #claiming: Promise<unknown> = Promise.resolve();
  readonly #claims = new AnswersInFlight();
  readonly #recordings = new AnswersInFlight();
  readonly #requeueOrder = new RequeueOrder();
  readonly #reconciling: Reconciling;
  readonly #reconciledKeys: ReconciledKeys = { areNeeded: false };

  constructor(session: Session, clock: Clock) {
    this.#session = session;
    this.#clock = clock;
    this.#processes = new Processes(session.heartbeats);
    this.#owned = new OwnedEvents(session.heartbeats, this.#processes);
    this.#ends = new ClaimEnds(session, this.#processes, this.#owned);
    this.#reconciling = new Reconciling(clock, session.signal);
    this.#queue = new RecordQueue({
      clock,
      record: (events) => this.#recordGroup(events),
      isInvalidData,
    });
    this.#liveness = new Liveness({
      session,
      clock,
      processes: this.#processes,
      owned: this.#owned,
      queue: this.#queue,
      claimed: () => this.#claiming,
    });
  }

  async open(): Promise<void> {
    try {
      await requireReadCommitted(this.#session);
      await migrate(this.#session);
      await this.#processes.enter();
    } catch (error) {
      throw toProblem(error, this.#session.name);
    }
  }

  async close(): Promise<void> {
    this.abandon();
    try {
      await this.#processes.leave();
    } catch {
      // A database that can't be reached must not keep the app from stopping: others take over what this process had.
    }
    await this.#session.close();
  }

  abandon(): void {
    this.#session.abandon();
  }

  /** The id under which this process claims, if it has not left. */
  get processId(): number | undefined {
    return this.#processes.idIfEntered;
  }

  get isOverloaded(): boolean {
    return this.#queue.isOverloaded;
  }

  record(record: EventRecord, mayClaim: boolean): QueuedRecording {
    const add = () => this.#queue.add(record, mayClaim);
    return record.source === 'reconciled' ? this.#reconciling.add(add) : add();
  }

  /** While this process may own events that it doesn't know of, and that come before those that it records, it claims nothing. */
  get #recordingProcess(): RecordingProcess {
    const { id, recoveries } = this.#processes;
    return { id, recoveries: this.#owned.isUncertain ? undefined : recoveries };
  }

  /** Records deliveries, and ends claims with them; or one event that is reconciled. */
  async #recordGroup(events: readonly EventToRecord[]): Promise<readonly Recorded[]> {
    const [first] = events;
    const write = () =>
      first?.record.source === 'reconciled'
        ? recordReconciled(this.#session.intake, first, this.#recordingProcess)
        : this.#ends.recordWithEnds((ended) =>
            recordGroup(this.#session.intake, events, this.#recordingProcess, this.#reconciledKeys, ended),
          );
    const recorded = await this.#recordings.add(this.#owned.recording(write));
    // Not thrown by `write`: `OwnedEvents` would take it for an answer that was lost.
    if (recorded.length === 0) throw new DeliveriesGoOn();
    return recorded;
  }

  /**
   * One at a time, and answered after what is being recorded: the answers of the database may come in either order, and events
   * of one call must not.
   */
  claimEvents(limit: number): Promise<readonly FoundEvent[]> {
    const claimed = this.#claiming.then(() =>
      this.#owned.isUncertain ? [] : claimEvents(this.#session, this.#processes.id, limit),
    );
    this.#claiming = claimed.catch(() => {});
    return this.#claims.add(this.#behindRecordings(claimed));
  }

  async #behindRecordings(claimed: Promise<readonly FoundEvent[]>): Promise<readonly FoundEvent[]> {
    const found = await claimed;
    await this.#recordings.arrived();
    if (!this.#owned.isUncertain) return found;
    this.#owned.refuse(found.map(({ sequence }) => sequence));
    return [];
  }

  claimRuns(handler: HandlerTerms, selection: RunSelection): Promise<readonly FoundRun[]> {
    return this.#claims.add(claimRuns(this.#session, this.#processes.id, handler, selection));
  }

  nextDue(handler: string, after: number | undefined): Promise<number | undefined> {
    return nextDue(this.#session, handler, after);
  }

  settle(run: ClaimedRun, end: RunEnd, isLast: boolean): Promise<Settled> {
    const row = settlementRow(run, end, { isLast, now: this.#clock.now() });
    if (isOrdinary(row)) return this.#ends.end(row);
    const write = () => this.#writeAndWait(run, isLast, (transaction) => settle(transaction, row));
    return end.state.kind === 'due' ? this.#requeueOrder.add(run, { othersWait: true }, write) : write();
  }

  settleWith(
    run: ClaimedRun,
    end: RunEnd,
    isLast: boolean,
    effects: (client: PoolClient) => unknown,
  ): Promise<Settled> {
    const row = settlementRow(run, end, { isLast, now: this.#clock.now() });
    return this.#writeAndWait(run, isLast, async (transaction) => {
      const settled = await settle(transaction, row);
      // The claim is no longer ours: the process that took the run over writes the effects, not this one.
      if (settled === 'lost') return settled;
      await lend(transaction, effects);
      return settled;
    });
  }

  requeue(run: ClaimedRun, isLast: boolean): Promise<Settled> {
    const row = runRow(run, isLast, this.#clock.now());
    return this.#requeueOrder.add(run, { othersWait: false }, () =>
      this.#writeAndWait(run, isLast, (transaction) => requeue(transaction, row)),
    );
  }

  countAttempt(run: ClaimedRun, isLast: boolean): Promise<number | undefined> {
    const row = runRow(run, isLast, this.#clock.now());
    return this.#writeAndWait(run, isLast, (transaction) => countAttempt(transaction, row));
  }

  arrive(arrival: JoinArrival): Promise<Settled> {
    return this.#writeAndWait(arrival, arrival.isLast, (transaction) => arrive(transaction, arrival));
  }

  async finish(event: ClaimedEvent): Promise<void> {
    await this.#ends.end({ sequence: event.sequence, process: requiredClaimerOf(event) });
  }

  beginReading(claimed: ClaimedEvent | ClaimedRun): Promise<boolean> {
    const { sequence, handler } = readingKeyOf(claimed);
    const process = requiredClaimerOf(claimed);
    return this.#session.write(async (transaction) => {
      const isHeld =
        handler === undefined
          ? await holdsEvent(transaction, { process, sequence })
          : await holdsRun(transaction, { process, sequence, handler: toText(handler) });
      if (isHeld)
        await transaction.query(
          'update ringback.crash_counts set tried_by = $2, being_read = true where sequence = $1',
          [sequence, process],
        );
      return isHeld;
    });
  }

  async endReading(claimed: ClaimedEvent | ClaimedRun): Promise<void> {
    await this.#session.query(
      'update ringback.crash_counts set being_read = false where sequence = $1 and tried_by = $2',
      [claimed.sequence, requiredClaimerOf(claimed)],
    );
  }

  unblock(handler: string, order: Order): Promise<number> {
    return this.#session.write((transaction) => unblock(transaction, handler, order));
  }

  keepAlive(): Promise<number> {
    return this.#liveness.keepAlive();
  }

  announce(handlers: readonly string[]): Promise<readonly (readonly string[])[]> {
    return this.#liveness.announce(handlers);
  }

  subscribe(onWork: () => void): () => void {
    return this.#liveness.subscribe(onWork);
  }

  /**
   * Makes a write, and resolves only when the claims and recordings in flight have been answered. The database may have made
   * these before the write, so that they have not seen a run that it requeues: whoever places what they have claimed must
   * still find that run in `CallOrder`. Other writes could do without, and go the same way. `isLast`: the claim on the event
   * ends with the write.
   */
  async #writeAndWait<T>(
    { sequence }: { readonly sequence: Sequence },
    isLast: boolean,
    write: (transaction: LendingTransaction) => Promise<T>,
  ): Promise<T> {
    const result = await this.#session.write(write);
    if (isLast) this.#owned.delete(sequence);
    await Promise.all([this.#claims.arrived(), this.#recordings.arrived()]);
    return result;
  }
}
