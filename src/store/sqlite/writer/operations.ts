import type { FoundAlert } from '../../alert-store.ts';
import type { EventRecord, Sequence } from '../../event-record.ts';
import type { JoinLookBack } from '../../call-store.ts';
import type { AuditCounts, AuditRequest, ProgressStep } from '../../audit-store.ts';
import type { DismissalWrite, ReplayWrite, SeenDuplicates } from '../../event-store.ts';
import type { HandlerPause, StartSlots } from '../../handler-store.ts';
import type { RunSelection } from '../../claims.ts';
import type { JoinArrival } from '../../shared/join-progress.ts';
import type { EndedRun, RunToWrite } from '../../shared/run-to-write.ts';
import type { DriftRow } from '../../drift-store.ts';
import type { RetentionLimits } from '../../retention-store.ts';
import type { QuarantineRow } from '../admin/keep-delivery.ts';
import type { FileMarks } from '../connection/database-files.ts';
import type { Statements } from '../connection/statements.ts';
import type { SeenJumps } from '../work/clock-jumps.ts';

/**
 * All writes but events and ends of claims, by name. Each operation runs inside a transaction, mostly together with
 * others. Its arguments and result are sent between threads, so they are plain data.
 */
export function operationsOn(statements: Statements) {
  const { processes, notedWal, claims, settling, joins, dueTimes, quarantine, replays, erasure, scrubbing } =
    statements;

  /** Makes an erasure note, in its own transaction, that the files must be scrubbed. */
  const scrubbed =
    <Args extends readonly unknown[], Result>(erase: (...args: Args) => Result) =>
    (...args: Args): Result => {
      scrubbing.want();
      return erase(...args);
    };

  return {
    /**
     * Enters this process among those that share the file, and gives back what it held under `former`, its id so far,
     * or 0. That is an argument because `processes.id` may be of an `enter` that was rolled back. Returns the new id.
     *
     * @param wal The WAL to note, if any
     */
    enter(now: number, former: number, wal: FileMarks | undefined): number {
      if (former === 0 && !processes.hasOthers()) dueTimes.catchUp(now);
      claims.releaseAll(former, { died: false });
      processes.remove(former);
      const id = processes.enter(now);
      if (wal) notedWal.note(wal);
      dueTimes.note(now);
      return id;
    },

    /** Gives back what this process holds, and removes the process. */
    leave(now: number, jumps: SeenJumps): void {
      dueTimes.correct(jumps);
      dueTimes.note(now);
      claims.releaseAll(processes.id, { died: false });
      notedWal.forget();
      processes.remove(processes.id);
    },

    heartbeat(now: number, wal: FileMarks | undefined): void {
      processes.heartbeat();
      if (wal) notedWal.note(wal);
      dueTimes.note(now);
    },

    /** Takes over what dead processes held. Returns the number of claims. */
    takeOver(dead: readonly number[]): number {
      let takenOver = 0;
      for (const id of dead) {
        takenOver += claims.releaseAll(id, { died: true });
        processes.remove(id);
      }
      return takenOver;
    },

    announce: (handlers: readonly string[]) => processes.announce(handlers),
    correctDueTimes: (jumps: SeenJumps) => dueTimes.correct(jumps),

    claimEvents: (limit: number) => claims.events(limit),
    claimRuns: (handler: string, isStrict: boolean, selection: RunSelection) =>
      claims.runs(handler, isStrict, selection),
    beginReading: (sequence: Sequence, handler: string | undefined) =>
      settling.beginReading(sequence, handler),
    endReading: (sequence: Sequence) => settling.endReading(sequence),
    countAttempt: (run: RunToWrite) => settling.countAttempt(run),
    settle: (row: EndedRun) => settling.settle(row),
    requeueRun: (row: RunToWrite) => settling.requeue(row),
    unblock: (handler: string) => statements.unblock.some(handler),

    arrive: (arrival: JoinArrival) => joins.arrive(arrival),
    noteSeen: (handler: string, callId: string, names: readonly string[]) =>
      joins.noteSeen(handler, callId, names),
    lookBack: (join: JoinLookBack, now: number) => joins.lookBack(join, now),

    pin: (scheme: string, instead: string | undefined) => statements.pinnedScheme.pin(scheme, instead),
    unpin: () => statements.pinnedScheme.unpin(),

    keepDelivery: (row: QuarantineRow) => statements.keepDelivery(row),
    release: (id: number, record: EventRecord) => quarantine.release(id, record),
    markUnreadable: (id: number, reason: string) => quarantine.markUnreadable(id, reason),
    discard: (id: number) => quarantine.discard(id),

    addDrift: (rows: readonly DriftRow[]) => statements.drift.add(rows),
    addDuplicates: (seen: readonly SeenDuplicates[]) => statements.addDuplicates(seen),
    replay: (step: ReplayWrite) => replays.requeue(step),
    addHistory: (at: number, counts: ReadonlyMap<string, number>, mayRemove: boolean) =>
      statements.history.add(at, counts, mayRemove),
    raiseAlert: (alert: FoundAlert) => statements.alerts.raise(alert),
    untoldAlert: (name: string, subject: string) => statements.alerts.untold(name, subject),
    endAlert: (name: string, subject: string) => statements.alerts.end(name, subject),
    muteGroup: (id: string, now: number) => statements.failures.mute(id, now),
    unmuteGroup: (id: string) => statements.failures.unmute(id),
    beginAudit: (request: AuditRequest) => statements.audit.begin(request),
    endAudit: (id: number, now: number, counts: AuditCounts) => statements.audit.end(id, now, counts),
    advanceAudit: (step: ProgressStep) => statements.audit.advance(step),
    stopAudit: (id: number, now: number) => statements.audit.stop(id, now),
    pauseHandler: (pause: HandlerPause) => statements.handlers.pause(pause),
    resumeHandler: (handler: string) => statements.handlers.resume(handler),
    reserveStarts: (slots: StartSlots, now: number) => statements.handlers.reserveStarts(slots, now),
    dismiss: (step: DismissalWrite) => statements.dismissals.dismiss(step),

    clean: (limits: RetentionLimits, after: string | undefined) => statements.cleaning.step(limits, after),
    eraseCall: scrubbed((callId: string, traceIdsUntil: number, last: Sequence | undefined) =>
      erasure.eraseCall(callId, traceIdsUntil, last),
    ),
    eraseEvents: scrubbed((sequences: readonly Sequence[], traceIdsUntil: number) =>
      erasure.eraseEvents(sequences, traceIdsUntil),
    ),
    eraseQuarantined: scrubbed((ids: readonly number[]) => erasure.eraseQuarantined(ids)),
    clearUnusedGroups: () => erasure.clearUnusedGroups(),
    eraseFailureGroups: scrubbed((ids: readonly number[]) => erasure.eraseFailureGroups(ids)),
    eraseAudit: scrubbed((ids: readonly number[]) => erasure.eraseAudit(ids)),
    erasePause: scrubbed((handler: string) => statements.handlers.erase(handler)),
    /** Outside of any transaction: see `isOutside`. */
    scrub: (options: { readonly compact: boolean }) => scrubbing.scrub(options),
  };
}

/** Whether an operation runs by itself, outside of any transaction. */
export function isOutside({ name }: Operation): boolean {
  return name === 'scrub';
}

export type Operations = ReturnType<typeof operationsOn>;

export type OperationName = keyof Operations;

export interface Operation<Name extends OperationName = OperationName> {
  readonly name: Name;
  readonly args: Parameters<Operations[Name]>;
}
