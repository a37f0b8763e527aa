/**
 * The way of a delivery on Postgres:
 *
 *   this process                                                    database
 *
 *   PostgresStore.record
 *   → record-queue.ts: groups what comes in one turn of the event
 *     loop; at most two groups are in flight
 *   → owned-events.ts: notes which events this process then owns
 *   → claim-ends.ts: adds the ends of claims that are waiting
 *   → record.ts ───────────────────── one statement ─────────────► record_events()
 *                                                                    advisory locks: against recovery and takeover of
 *                                                                      this process
 *                                                                    ended: the claims that end
 *                                                                    identities: which events are new
 *                                                                    advisory locks: which calls are free
 *                                                                    events: the rows, with the owner if claimed
 *                                                                    bodies
 *                                                                    waiting: what is not claimed
 *     new or duplicate, claimed or not ◄─────────────────────────── committed
 *   → the answer; then the runs of what is claimed
 *
 *   PostgresStore.settle: settling.ts
 *   → an ordinary end (`onlyEndsClaim`): claim-ends.ts ──────────► record_events(): ended, with the next group; or
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
 *   → processes.ts: clearEnded, once a minute ───────────────────► ended: without what ended_up_to says as well
 *   → owned-events.ts: recover, after an answer was lost ────────► events it owns without knowing it, and claims it may not
 *                                                                    work on: from owned and claims into waiting
 *   → processes.ts: takeOver ────────────────────────────────────► of a process that is dead or leaving: claims and owned
 *                                                                    into waiting; runs due; its row deleted; crash_counts,
 *                                                                    if it is dead
 *
 * A claim on an event has one of two forms. An event is *owned* if the write that recorded it also claimed it: it has
 * an `owner`, and neither a range in `ended` nor the owner's `ended_up_to` (except for `still_owned`) says that the
 * claim has ended. An event that waited first has a row in `claims`. "Claimed" means either. A run with a row is
 * claimed by itself, by `runs.claimed_by`.
 *
 * A *process* is a receiver's row in `processes`; one that was taken for dead enters again under another id. To *take
 * over* is to return to the inbox what a dead process had claimed; to *give back*, what this process has claimed. A
 * process whose recording was not answered is *uncertain*: it may own events that it doesn't know of, and claims no
 * events until it has *recovered* them.
 *
 * What keeps the order of a call, from the socket to the handler:
 *   `RecordQueue`       never has events of one call in both groups in flight
 *   `free_calls`        locks a call, so that two processes don't claim its events at the same moment
 *   `busy_calls`        lets an event wait for its call's waiting or claimed events, open runs, and others' events
 *   `claim_events`      claims the events of a call in order of arrival
 *   `AnswersInFlight`   returns claims after the recordings in flight, whichever the database answers first
 *   `RequeueOrder`      lets a run that is requeued see the earlier one that is requeued with it
 *   dispatch            `Placer`, `CallOrder` (shared/call-order.ts) and the lanes
 */
import type { HandlerTerms, RunSelection } from '../../claims.ts';
import type { FoundEvent, FoundRun, Recorded } from '../../shared/found-work.ts';
import type { EventRecord } from '../../event-record.ts';
import { progressOf } from '../admin/move-target.ts';
import { requireWhole } from '../../shared/move.ts';
import { toProblem } from '../connection/opening-cause.ts';
import { requireSuitable } from '../connection/suitable-database.ts';
import { migrate } from '../connection/migrations/index.ts';
import type { Session } from '../connection/session.ts';
import { AnswersInFlight } from './answers-in-flight.ts';
import { ClaimEnds } from './claim-ends.ts';
import { claimEvents, claimRuns } from './claim.ts';
import {
  type EventToRecord,
  type ReconciledKeys,
  type RecordingProcess,
  probe,
  recordGroup,
  recordReconciled,
} from './record.ts';
import { Liveness } from './liveness.ts';
import { OwnedEvents } from './owned-events.ts';
import { Processes } from './processes.ts';
import { Settling } from './settling.ts';
import { type QueuedRecording, RecordQueue } from './record-queue.ts';
import { DeliveriesGoOn, Reconciling } from './reconciling.ts';

/** Records and claims events. `Settling` ends the claims, and `Liveness` writes the heartbeats. */
export class Work {
  readonly #session: Session;
  readonly #mayBePart: boolean;
  readonly #processes: Processes;
  readonly #owned: OwnedEvents;
  readonly #ends: ClaimEnds;
  readonly #queue: RecordQueue;
  readonly settling: Settling;
  readonly liveness: Liveness;
  #claiming: Promise<unknown> = Promise.resolve();
  readonly #claims = new AnswersInFlight();
  readonly #recordings = new AnswersInFlight();
  readonly #reconciling: Reconciling;
  readonly #reconciledKeys: ReconciledKeys = { areNeeded: false };
  /** How many recordings have failed since the last recording or probe that succeeded. */
  #failedRecordings = 0;

  constructor(session: Session, mayBePart: boolean) {
    const { clock } = session;
    this.#session = session;
    this.#mayBePart = mayBePart;
    this.#processes = new Processes(session.heartbeats);
    this.#owned = new OwnedEvents(session.heartbeats, this.#processes);
    this.#ends = new ClaimEnds(session, this.#processes, this.#owned);
    this.#reconciling = new Reconciling(clock, session.signal);
    this.#queue = new RecordQueue(clock, (events) => this.#recordGroup(events));
    this.settling = new Settling({
      session,
      owned: this.#owned,
      ends: this.#ends,
      answered: () => Promise.all([this.#claims.answered(), this.#recordings.answered()]),
    });
    this.liveness = new Liveness({
      session,
      processes: this.#processes,
      owned: this.#owned,
      queue: this.#queue,
      claimed: () => this.#claiming,
    });
  }

  async open(): Promise<void> {
    try {
      await requireSuitable(this.#session);
      await migrate(this.#session);
      // Before entering, so that a move is not refused because of a receiver that is refused itself.
      await this.#requireWhole();
      await this.#processes.enter();
      // And after it, because from then on a move writes nothing.
      await this.#requireWhole();
    } catch (error) {
      throw toProblem(error, this.#session.name);
    }
  }

  async #requireWhole(): Promise<void> {
    if (!this.#mayBePart) requireWhole(this.#session.name, await progressOf(this.#session));
  }

  async close(): Promise<void> {
    this.#session.abandon();
    try {
      await this.#processes.leave();
    } catch {
      // A database that can't be reached must not keep the app from stopping: others will take over the claims.
    }
    await this.#session.close();
  }

  /** The id under which this process claims; undefined once it has left. */
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

  async probe(): Promise<void> {
    const failed = this.#failedRecordings;
    await probe(this.#session.intake, failed > 0);
    // A recording that failed meanwhile still counts.
    if (this.#failedRecordings === failed) this.#failedRecordings = 0;
  }

  /** Without `recoveries`, so that nothing is claimed, while this process may own events that it doesn't know of. */
  get #recordingProcess(): RecordingProcess {
    const { id, recoveries } = this.#processes;
    return { id, recoveries: this.#owned.isUncertain ? undefined : recoveries };
  }

  /** Records deliveries, and ends claims with them; or records one reconciled event. */
  async #recordGroup(events: readonly EventToRecord[]): Promise<readonly Recorded[]> {
    const [first] = events;
    const write = () =>
      first?.record.source === 'reconciled'
        ? recordReconciled(this.#session.intake, first, this.#recordingProcess)
        : this.#ends.recordWithEnds((ended) =>
            recordGroup(this.#session.intake, events, this.#recordingProcess, this.#reconciledKeys, ended),
          );
    try {
      const recorded = await this.#recordings.add(this.#owned.noteRecorded(write));
      // Not thrown by `write`: `OwnedEvents` would take it for a lost answer.
      if (recorded.length === 0) throw new DeliveriesGoOn();
      this.#failedRecordings = 0;
      return recorded;
    } catch (error) {
      this.#failedRecordings += 1;
      throw error;
    }
  }

  /**
   * One claim at a time, each returned after the recordings in flight: the database may answer in any order, but events
   * of one call must be returned in theirs.
   */
  claimEvents(limit: number): Promise<readonly FoundEvent[]> {
    const claimed = this.#claiming.then(() =>
      this.#owned.isUncertain
        ? []
        : this.#afterRecordings(claimEvents(this.#session, this.#processes.id, limit)),
    );
    this.#claiming = claimed.catch(() => {});
    return this.#claims.add(claimed);
  }

  async #afterRecordings(claimed: Promise<readonly FoundEvent[]>): Promise<readonly FoundEvent[]> {
    const found = await claimed;
    await this.#recordings.answered();
    if (!this.#owned.isUncertain) return found;
    this.#owned.refuse(found.map(({ sequence }) => sequence));
    return [];
  }

  claimRuns(handler: HandlerTerms, selection: RunSelection): Promise<readonly FoundRun[]> {
    return this.#claims.add(claimRuns(this.#session, this.#processes.id, handler, selection));
  }
}
