import type Database from 'better-sqlite3';
import { isNewEvent } from './event-state.ts';
import { byCall, isOpen, isUnbegun } from '../work/open-runs.ts';
import { asInteger, asText } from '../connection/parameters.ts';
import {
  type ReplayCandidate,
  type ReplayStep,
  type ReplayWrite,
  type ReplayedRuns,
  joinKey,
} from '../../event-store.ts';
import type { AuditCounts } from '../../audit-store.ts';
import type { Sequence } from '../../sequence.ts';

interface FoundRow {
  readonly isNew: 0 | 1;
  /** Null where the run has no row. */
  readonly run: string | null;
}

/** A part of a replay as it is written: `now` is the wall time in milliseconds since 1970. */
export interface ReplayRows extends ReplayWrite {
  readonly now: number;
}

/** How a run that is requeued waits. */
interface Waiting {
  readonly state: 'due' | 'blocked';
  readonly dueAt: number;
}

interface UnbegunRow {
  readonly sequence: Sequence;
  readonly dueAt: number;
}

/** Finds the next run of the candidate's call and handler that has not begun. */
type FindUnbegun = (candidate: ReplayCandidate) => UnbegunRow | undefined;

/** Puts settled runs back. `requeue` runs inside a transaction of the caller's. `count` adds to the replay's entry. */
export function prepareReplays(
  database: Database.Database,
  count: (replay: number, counts: AuditCounts) => void,
) {
  const find = database.prepare(`
    select ${isNewEvent} as isNew, r.state as run
    from events e left join runs r on r.sequence = e.sequence and r.handler = ${asText('@handler')}
    where e.sequence = ${asInteger('@sequence')}`);
  const ofHandler = `call_id = ${asText('@callId')} and handler = ${asText('@handler')}`;
  const openOfCall = database.prepare(`select 1 from runs ${byCall} where ${ofHandler} and ${isOpen}`);
  // Runs that have not begun are due in the order of their arrival, so the nearest one on either side decides.
  // Looking for the latest or the earliest due time of a hundred thousand runs, for each of as many, would stop the
  // app's event loop.
  const unbegun = `select sequence, due_at as dueAt from runs ${byCall}
    where ${ofHandler} and ${isOpen} and ${isUnbegun}`;
  const unbegunBefore = database.prepare(
    `${unbegun} and sequence < ${asInteger('@sequence')} order by sequence desc limit 1`,
  );
  const unbegunAfter = database.prepare(
    `${unbegun} and sequence > ${asInteger('@sequence')} order by sequence limit 1`,
  );
  // The reason stays until the run is settled: a person sees why it was run again.
  const put = database.prepare(`
    insert into runs (sequence, handler, call_id, state, attempts, due_at, replay)
    values (@sequence, @handler, @callId, @state, 0, @dueAt, @replay)
    on conflict (sequence, handler) do update set
      state = excluded.state, attempts = 0, due_at = excluded.due_at, settled_at = null, replay = excluded.replay`);
  // A person may have given the process more memory: the event may be read again as often as before.
  const readAnew = database.prepare('update crash_counts set reading_crashes = 0 where sequence = ?');
  // The join starts anew, as if it had never run: its handler sees the call again, and once more if an event comes
  // late.
  const resetJoin = database.prepare(`
    insert into joins (handler, call_id) values (?, ?)
    on conflict (handler, call_id) do update set seen = null, settled = null, reruns = 0`);
  const countIn = database.prepare(`
    select count(*) filter (where state = 'done') as done, count(*) filter (where state = 'dead') as dead,
      count(*) filter (where ${isOpen}) as open
    from runs where sequence between @from and @to and replay = @replay`);

  /**
   * Whether the run is settled. If a run of a new event has no row, it is in memory or has yet to begin, so it is
   * open.
   */
  const isSettled = (candidate: ReplayCandidate, onlyDead: boolean): boolean => {
    const found = find.get(keyOf(candidate)) as FoundRow | undefined;
    if (!found) return false;
    if (onlyDead) return found.run === 'dead';
    return found.run === null ? found.isNew === 0 : found.run === 'done' || found.run === 'dead';
  };

  const isWanted = (candidate: ReplayCandidate, onlyDead: boolean, joins: ReadonlySet<string>): boolean => {
    if (!isSettled(candidate, onlyDead)) return false;
    if (!candidate.isJoin) return true;
    return !joins.has(joinKey(candidate)) && openOfCall.get(keyOf(candidate)) === undefined;
  };

  /** Decides on the candidates one by one, so that a join is requeued only once for each call. */
  const decide = (
    { candidates, onlyDead, joins }: ReplayStep,
    onWanted: (wanted: ReplayCandidate) => void,
  ) => {
    const decided = new Set(joins);
    for (const candidate of candidates) {
      if (!isWanted(candidate, onlyDead, decided)) continue;
      if (candidate.isJoin) decided.add(joinKey(candidate));
      onWanted(candidate);
    }
  };

  const dueAtOf = ({ spread, now }: ReplayRows, place: number): number =>
    spread === undefined ? 0 : Math.round(now + spread.delay + place * spread.gap);

  /**
   * How the run waits, as its order requires: with order `call`, it is due between its neighbours in order of
   * arrival, among the runs of its call that have not begun.
   */
  const waitingOf = (candidate: ReplayCandidate, dueAt: number, after: FindUnbegun): Waiting => {
    const { order, callId, isJoin } = candidate;
    if (callId === undefined || isJoin || order === 'none') return { state: 'due', dueAt };
    const key = keyOf(candidate);
    if (order === 'strict') return { state: openOfCall.get(key) === undefined ? 'due' : 'blocked', dueAt };
    const before = unbegunBefore.get(key) as UnbegunRow | undefined;
    const wanted = Math.max(dueAt, before?.dueAt ?? dueAt);
    // Nothing can be due before a run that is due at once.
    if (wanted === 0) return { state: 'due', dueAt: 0 };
    return { state: 'due', dueAt: Math.min(wanted, after(candidate)?.dueAt ?? Infinity) };
  };

  /**
   * Remembers what it found for the next candidates, which come in order of arrival: a run that is far away is looked
   * for only once.
   */
  const rememberingAfter = (): FindUnbegun => {
    const found = new Map<string, UnbegunRow | undefined>();
    return (candidate) => {
      const name = joinKey(candidate);
      const known = found.get(name);
      if (found.has(name) && (known === undefined || known.sequence > candidate.sequence)) return known;
      const next = unbegunAfter.get(keyOf(candidate)) as UnbegunRow | undefined;
      found.set(name, next);
      return next;
    };
  };

  return {
    /** Counts the replay's runs of some events; both ends of the range are inclusive. */
    countIn: (replay: number, range: { readonly from: Sequence; readonly to: Sequence }): ReplayedRuns =>
      countIn.get({ replay, ...range }) as ReplayedRuns,

    wouldRequeue(step: ReplayStep): ReplayCandidate[] {
      const wanted: ReplayCandidate[] = [];
      decide(step, (candidate) => wanted.push(candidate));
      return wanted;
    },

    requeue(step: ReplayRows): ReplayCandidate[] {
      const done: ReplayCandidate[] = [];
      const after = rememberingAfter();
      decide(step, (candidate) => {
        const waiting = waitingOf(candidate, dueAtOf(step, done.length), after);
        put.run({ ...keyOf(candidate), ...waiting, replay: step.replay });
        readAnew.run(candidate.sequence);
        if (candidate.isJoin) resetJoin.run(candidate.handler, candidate.callId);
        done.push(candidate);
      });
      count(step.replay, { events: new Set(done.map(({ sequence }) => sequence)).size, runs: done.length });
      return done;
    },
  };
}

function keyOf({ sequence, handler, callId }: ReplayCandidate) {
  return { sequence, handler, callId: callId ?? null };
}
