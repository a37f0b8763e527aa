import type { AuditRow, ProgressStep } from '../../store/audit-store.ts';
import type { DismissedRun, EventFilter, StoredEvent } from '../../store/event-store.ts';
import type { RunCounts } from '../../store/shared/changed-runs.ts';

/** What a replay or a dismissal does to the runs of the events that it goes through. */
export interface BulkWork {
  readonly filter: EventFilter;
  /** How many runs a second it changes at most; undefined: as many as it can. */
  readonly rate: number | undefined;
  /** The next step, made of some events; undefined if there is nothing in them to change. */
  readonly stepOf: (events: readonly StoredEvent[]) => Promise<BulkStep | undefined>;
  /** Called when runs have been changed. */
  readonly onWritten: () => void;
  /** Called when it is done. */
  readonly onDone: (result: BulkResult) => void;
}

/** A step of it: the store decides in the same way on what would be changed and on what is changed. */
export interface BulkStep {
  readonly preview: () => Promise<readonly DismissedRun[]>;
  /** In one transaction. Resolves to undefined, with nothing written, if the step isn't the next of its entry. */
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

/** What an entry of the audit list says about how far it has come; undefined for one of what is done at once. */
export function bulkStateOf({ finishedAt, progress }: AuditRow): BulkState | undefined {
  if (!progress) return undefined;
  if (finishedAt === undefined) return 'running';
  return progress.isStopped ? 'stopped' : 'done';
}
