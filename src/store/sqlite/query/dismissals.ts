import type Database from 'better-sqlite3';
import type { DismissalStep, DismissalWrite, DismissedRun } from '../../event-store.ts';
import { type RunTaken, runsThatBlocked } from '../../shared/changed-runs.ts';
import type { Sequence } from '../../event-record.ts';
import { asInteger, asText } from '../connection/parameters.ts';
import { withFormerReason } from '../../shared/run-to-write.ts';
import type { prepareAudit } from './audit.ts';
import { prepareUnblockNext } from '../work/unblock.ts';

interface RunRow extends RunTaken {
  readonly sequence: Sequence;
}

/**
 * Dismisses runs: they are done, with a reason that says so. Claimed runs are left to their process. `dismiss` runs
 * inside the caller's transaction.
 */
export function prepareDismissals(
  database: Database.Database,
  audit: Pick<ReturnType<typeof prepareAudit>, 'advance' | 'add'>,
) {
  const find = database.prepare(`
    select sequence, handler, call_id as callId, state from runs
    where sequence = ${asInteger('@sequence')} and handler = coalesce(${asText('@handler')}, handler)
      and (${asInteger('@takesDead')} and state = 'dead'
        or ${asInteger('@takesWaiting')} and state in ('due', 'blocked'))
    order by handler`);
  const settle = database.prepare(`
    update runs set state = 'done', due_at = null, settled_at = @now, failure = null,
      reason = ${withFormerReason('@reason')}
    where sequence = @sequence and handler = @handler`);
  const unblockNext = prepareUnblockNext(database);

  /** Decides which runs are dismissed, both for a dry run and for the dismissal, so that the two agree. */
  const decide = ({ sequences, handler, takesDead, takesWaiting }: DismissalStep): RunRow[] => {
    const wanted = {
      handler: handler ?? null,
      takesDead: Number(takesDead),
      takesWaiting: Number(takesWaiting),
    };
    return sequences.flatMap((sequence) => find.all({ sequence, ...wanted }) as RunRow[]);
  };

  return {
    wouldDismiss: (step: DismissalStep): DismissedRun[] => decide(step).map(keyOf),

    dismiss({ step, reason, now, ...which }: DismissalWrite): DismissedRun[] | undefined {
      if (!audit.advance(step)) return undefined;
      const runs = decide(which);
      for (const run of runs) settle.run({ ...keyOf(run), reason, now });
      // Only after all of them are settled, so that none of them is unblocked.
      for (const { callId, handler } of runsThatBlocked(runs)) unblockNext(callId, handler);
      audit.add(step.id, runs);
      return runs.map(keyOf);
    },
  };
}

function keyOf({ sequence, handler }: RunRow): DismissedRun {
  return { sequence, handler };
}
