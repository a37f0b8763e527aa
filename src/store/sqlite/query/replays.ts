import type Database from 'better-sqlite3';
import { byCall, isOpen, isNewEvent } from '../work/open-runs.ts';
import { asInteger, asText } from '../connection/parameters.ts';
import {
  type ReplayCandidate,
  type ReplayQuestion,
  type ReplayWrite,
  type ReplayedRuns,
  joinKey,
} from '../../event-store.ts';
import { mayRequeue } from '../../shared/changed-runs.ts';
import type { Sequence } from '../../event-record.ts';
import type { prepareAudit } from './audit.ts';

interface FoundRow {
  readonly isNew: 0 | 1;
  /** Null where the run has no row. */
  readonly run: string | null;
}

/** Requeues settled runs. `requeue` runs inside the caller's transaction. */
export function prepareReplays(
  database: Database.Database,
  audit: Pick<ReturnType<typeof prepareAudit>, 'advance' | 'add'>,
) {
  const find = database.prepare(`
    select ${isNewEvent} as isNew, r.state as run
    from events e left join runs r on r.sequence = e.sequence and r.handler = ${asText('@handler')}
    where e.sequence = ${asInteger('@sequence')}`);
  const ofHandler = `call_id = ${asText('@callId')} and handler = ${asText('@handler')}`;
  const openOfCall = database.prepare(`select 1 from runs ${byCall} where ${ofHandler} and ${isOpen}`);
  const isResetBy = database.prepare(
    'select 1 from joins where handler = @handler and call_id = @callId and replay = @replay',
  );
  // Keeps the reason until the run is settled: it shows a person why the run is tried again.
  const put = database.prepare(`
    insert into runs (sequence, handler, call_id, state, attempts, due_at, replay)
    values (@sequence, @handler, @callId, @state, 0, 0, @replay)
    on conflict (sequence, handler) do update set
      state = excluded.state, attempts = 0, due_at = excluded.due_at, settled_at = null, replay = excluded.replay`);
  // Reading may be tried as often as before: a person may have given the process more memory.
  const readAnew = database.prepare('update crash_counts set reading_crashes = 0 where sequence = ?');
  // The join starts anew, as if it had never run, and runs again for a late event.
  const resetJoin = database.prepare(`
    insert into joins (handler, call_id, replay) values (@handler, @callId, @replay)
    on conflict (handler, call_id) do update set seen = null, settled = null, reruns = 0, replay = excluded.replay`);
  const countIn = database.prepare(`
    select count(*) filter (where state = 'done') as done, count(*) filter (where state = 'dead') as dead,
      count(*) filter (where ${isOpen}) as open
    from runs where sequence between @from and @to and replay = @replay`);

  const isSettled = (candidate: ReplayCandidate, onlyDead: boolean): boolean => {
    const found = find.get(keyOf(candidate)) as FoundRow | undefined;
    return found !== undefined && mayRequeue({ ...found, isNew: found.isNew === 1 }, onlyDead);
  };

  const isJoinFree = (candidate: ReplayCandidate): boolean => openOfCall.get(keyOf(candidate)) === undefined;

  /** With order `strict`, the run waits for open ones of its call. */
  const stateOf = (candidate: ReplayCandidate): 'due' | 'blocked' =>
    candidate.order === 'strict' &&
    !candidate.isJoin &&
    candidate.callId !== undefined &&
    openOfCall.get(keyOf(candidate)) !== undefined
      ? 'blocked'
      : 'due';

  return {
    /** Counts the replay's runs of some events; both ends of the range are inclusive. */
    countIn: (replay: number, range: { readonly from: Sequence; readonly to: Sequence }): ReplayedRuns =>
      countIn.get({ replay, ...range }) as ReplayedRuns,

    wouldRequeue({ candidates, onlyDead, joins }: ReplayQuestion): ReplayCandidate[] {
      const decided = new Set(joins);
      return candidates.filter((candidate) => {
        if (!isSettled(candidate, onlyDead)) return false;
        if (!candidate.isJoin) return true;
        if (decided.has(joinKey(candidate)) || !isJoinFree(candidate)) return false;
        decided.add(joinKey(candidate));
        return true;
      });
    },

    requeue({ candidates, onlyDead, step }: ReplayWrite): ReplayCandidate[] | undefined {
      if (!audit.advance(step)) return undefined;
      const done: ReplayCandidate[] = [];
      for (const candidate of candidates) {
        const key = keyOf(candidate);
        if (!isSettled(candidate, onlyDead)) continue;
        const { handler, callId } = key;
        const join = { handler, callId, replay: step.id };
        // Even if its run is done again by now: a join runs once for each call.
        if (candidate.isJoin && (isResetBy.get(join) !== undefined || !isJoinFree(candidate))) continue;
        put.run({ ...key, state: stateOf(candidate), replay: step.id });
        readAnew.run(candidate.sequence);
        if (candidate.isJoin) resetJoin.run(join);
        done.push(candidate);
      }
      audit.add(step.id, done);
      return done;
    },
  };
}

function keyOf({ sequence, handler, callId }: ReplayCandidate) {
  return { sequence, handler, callId: callId ?? null };
}
