import type Database from 'better-sqlite3';
import type { DueTime } from './due-time.ts';
import { isNewEvent } from './event-state.ts';
import { byCall, isOpen } from './open-runs.ts';
import { asInteger, asText } from './parameters.ts';
import {
  type ReplayCandidate,
  type ReplayRequest,
  type ReplayStep,
  type ReplayWrite,
  joinKey,
} from '../event-store.ts';

interface FoundRow {
  readonly isNew: 0 | 1;
  /** Null where the run has no row. */
  readonly run: string | null;
}

/** How a run that is put back waits. */
interface Waiting {
  readonly state: 'due' | 'blocked';
  readonly dueAt: number;
}

/** Puts settled runs back. What writes runs inside a transaction of the caller's. */
export function prepareReplays(database: Database.Database, dueTime: DueTime) {
  const insertReplay = database.prepare(
    'insert into replays (requested_at, requested_by, reason, filter) values (?, ?, ?, ?)',
  );
  const count = database.prepare('update replays set events = events + ?, runs = runs + ? where id = ?');
  const finish = database.prepare('update replays set finished_at = ? where id = ?');
  const find = database.prepare(`
    select ${isNewEvent} as isNew, r.state as run
    from events e left join runs r on r.sequence = e.sequence and r.handler = ${asText('@handler')}
    where e.sequence = ${asInteger('@sequence')}`);
  const ofHandler = `call_id = ${asText('@callId')} and handler = ${asText('@handler')}`;
  const openOfCall = database.prepare(`select 1 from runs ${byCall} where ${ofHandler} and ${isOpen}`);
  const unbegun = `from runs ${byCall} where ${ofHandler} and ${isOpen}
    and state = 'due' and attempts = 0`;
  const earlierDue = database
    .prepare(`select max(due_at) ${unbegun} and sequence < ${asInteger('@sequence')}`)
    .pluck();
  const laterDue = database
    .prepare(`select min(due_at) ${unbegun} and sequence > ${asInteger('@sequence')}`)
    .pluck();
  // The reason stays until the run is settled: a person sees why it was run again.
  const put = database.prepare(`
    insert into runs (sequence, handler, call_id, state, attempts, due_at, replay)
    values (@sequence, @handler, @callId, @state, 0, @dueAt, @replay)
    on conflict (sequence, handler) do update set
      state = excluded.state, attempts = 0, due_at = excluded.due_at, settled_at = null, replay = excluded.replay`);
  // As if none of its runs had been: its handler sees the call anew, and once more should an event come late.
  const resetJoin = database.prepare(`
    insert into joins (handler, call_id) values (?, ?)
    on conflict (handler, call_id) do update set seen = null, settled = null, reruns = 0`);

  /** Whether the run is settled. A new event's runs without a row are in memory, or still to come: open. */
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

  /** Decides for the candidates one by one, so that a join is decided upon once a call. */
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

  /** Where the order of the call puts it: among the runs of the call that have not begun, by order of arrival. */
  const waitingOf = (candidate: ReplayCandidate, dueAt: number): Waiting => {
    const { order, callId, isJoin } = candidate;
    if (callId === undefined || isJoin || order === 'none') return { state: 'due', dueAt };
    const key = keyOf(candidate);
    if (order === 'strict') return { state: openOfCall.get(key) === undefined ? 'due' : 'blocked', dueAt };
    const notBefore = (earlierDue.get(key) as number | null) ?? dueAt;
    const notAfter = (laterDue.get(key) as number | null) ?? Infinity;
    return { state: 'due', dueAt: Math.min(Math.max(dueAt, notBefore), notAfter) };
  };

  return {
    begin: ({ by, reason, filter, now }: ReplayRequest): number =>
      Number(insertReplay.run(now, by ?? null, reason ?? null, filter).lastInsertRowid),

    end: (replay: number, now: number): void => void finish.run(now, replay),

    wouldPutBack(step: ReplayStep): ReplayCandidate[] {
      const wanted: ReplayCandidate[] = [];
      decide(step, (candidate) => wanted.push(candidate));
      return wanted;
    },

    putBack(step: ReplayWrite): ReplayCandidate[] {
      const done: ReplayCandidate[] = [];
      decide(step, (candidate) => {
        const dueAt = step.dueAt === 0 ? 0 : Math.round(step.dueAt + done.length * step.gap);
        const waiting = waitingOf(candidate, dueTime.store(dueAt));
        put.run({ ...keyOf(candidate), ...waiting, replay: step.replay });
        if (candidate.isJoin) resetJoin.run(candidate.handler, candidate.callId);
        done.push(candidate);
      });
      count.run(new Set(done.map(({ sequence }) => sequence)).size, done.length, step.replay);
      return done;
    },
  };
}

function keyOf({ sequence, handler, callId }: ReplayCandidate) {
  return { sequence, handler, callId: callId ?? null };
}
