import type Database from 'better-sqlite3';
import { type DismissalStep, type DismissalWrite, type DismissedRun, joinKey } from '../../event-store.ts';
import type { Sequence } from '../../sequence.ts';
import { asInteger, asText } from '../connection/parameters.ts';
import { withFormerReason } from '../work/former-reason.ts';
import { prepareUnblockNext } from '../work/unblock.ts';

interface RunRow {
  readonly sequence: Sequence;
  readonly handler: string;
  readonly callId: string | null;
  readonly state: 'due' | 'blocked' | 'dead';
}

/**
 * Settles runs that a person has decided not to do: they are done, with a reason that says so. A claimed run is left
 * to the process that has claimed it. `dismiss` runs inside a transaction of the caller's.
 */
export function prepareDismissals(database: Database.Database) {
  const find = database.prepare(`
    select sequence, handler, call_id as callId, state from runs
    where sequence = ${asInteger('@sequence')} and handler = coalesce(${asText('@handler')}, handler)
      and (${asInteger('@takesDead')} and state = 'dead'
        or ${asInteger('@takesWaiting')} and state in ('due', 'blocked'))
    order by handler`);
  const settle = database.prepare(`
    update runs set state = 'done', due_at = null, settled_at = @now,
      reason = ${withFormerReason}
    where sequence = @sequence and handler = @handler`);
  const unblockNext = prepareUnblockNext(database);

  /** Decides alike for a dry run and for the dismissal itself, so that the dry run is true. */
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

    dismiss(step: DismissalWrite): DismissedRun[] {
      const { reason, now } = step;
      const runs = decide(step);
      for (const run of runs) settle.run({ ...keyOf(run), reason, now });
      // Only when all of them are settled, so that none of them is unblocked.
      for (const { callId, handler } of lettingGo(runs)) unblockNext(callId, handler);
      return runs.map(keyOf);
    },
  };
}

/**
 * One run of each handler and call whose next run may be unblocked. A dead run unblocked its next one when it died,
 * and a blocked run holds up only what the run before it holds up as well.
 */
function lettingGo(runs: readonly RunRow[]): Iterable<{ handler: string; callId: string }> {
  const found = new Map<string, { handler: string; callId: string }>();
  for (const { handler, callId, state } of runs) {
    if (state === 'due' && callId !== null) found.set(joinKey({ handler, callId }), { handler, callId });
  }
  return found.values();
}

function keyOf({ sequence, handler }: RunRow): DismissedRun {
  return { sequence, handler };
}
