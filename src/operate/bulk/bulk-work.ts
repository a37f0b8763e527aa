import type { AuditRow, ProgressStep } from '../../store/audit-store.ts';
import type { DismissedRun, EventFilter, StoredEvent } from '../../store/event-store.ts';
import type { RunCounts } from '../../store/shared/changed-runs.ts';

/** What a replay or dismissal does to the runs of its events. */
export interface BulkWork {
  readonly filter: EventFilter;
  /** How many runs it changes per second; undefined for as many as it can. */
  readonly rate: number | undefined;
  /** Makes a step of some events; undefined if there is nothing to change in them. */
  readonly stepOf: (events: readonly StoredEvent[]) => Promise<BulkStep | undefined>;
  readonly onWritten: () => void;
  /** Called when all events have been processed; not when it was stopped. */
  readonly onDone: (result: BulkResult) => void;
}

/** A step of a bulk action. The store selects the same runs for a preview as for a write. */
interface BulkStep {
  readonly preview: () => Promise<readonly DismissedRun[]>;
  /**
   * Changes the runs in one transaction. Resolves to undefined, with nothing written, if the action was stopped or
   * another process has already written this step.
   */
  readonly write: (step: ProgressStep) => Promise<readonly DismissedRun[] | undefined>;
}

/** What a replay or a dismissal has changed, or would change in a dry run. */
export interface BulkResult extends RunCounts {
  /** The id of its entry in the audit list; undefined for a dry run. */
  readonly id: number | undefined;
  /** Whether it is done, was stopped by a person, or is still running; undefined for a dry run. */
  readonly state: BulkState | undefined;
}

/** The state of a replay or a dismissal. */
export type BulkState = 'running' | 'done' | 'stopped';

/** The state in an audit entry; undefined for an operation without progress. */
export function bulkStateOf({ finishedAt, progress }: AuditRow): BulkState | undefined {
  if (!progress) return undefined;
  if (finishedAt === undefined) return 'running';
  return progress.isStopped ? 'stopped' : 'done';
}
