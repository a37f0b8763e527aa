import type Database from 'better-sqlite3';
import { type CallEventRow, callRecordOf } from '../../../calls/timeline.ts';
import { type ListedCall, matchesCall, type EventFactsRow, callEventOf } from '../../shared/call-rows.ts';
import { numberIn } from '../../shared/cursor.ts';
import type { CallFilter, KeptJoin } from '../../call-store.ts';
import { type Sequence, callKey } from '../../event-record.ts';
import { indexedOfCall, isUnindexed, prepareEraCount, sequencesOfCall } from '../work/call-index.ts';
import { asInteger, asText } from '../connection/parameters.ts';
import { type KeptJoinRow, keptJoinOf } from '../../shared/join-progress.ts';

/** An event's place in the order of arrival times. */
export interface Arrival {
  readonly receivedAt: number;
  readonly sequence: Sequence;
}

/** SQL: the events that arrived since one, that one included. */
const arrivals = `
  select received_at as receivedAt, sequence from events
  where (received_at, sequence) >= (@receivedAt, @sequence) order by received_at, sequence`;
/** How many arrivals one look goes through at most: many, because only their times are read. */
const arrivalsAtOnce = 20_000;
/** SQL: where the next look begins. */
const nextArrival = `${arrivals} limit 1 offset ${arrivalsAtOnce}`;

/**
 * Reads the events of a call, and what joins remember of it. The call itself is not stored, but computed from its
 * events when somebody asks: computing it with every event would cost the square of the number of events.
 */
export function prepareCallEvents(database: Database.Database) {
  const eventsOfCall = database.prepare(`
    select event_name, trace_id, organization_id, agent_id, occurred_at, received_at, facts
    from events where sequence in (${sequencesOfCall('@key')}) and call_id = ${asText('@callId')} order by sequence`);
  const lowest = database.prepare(`select min(sequence) from (${arrivals} limit ${arrivalsAtOnce})`).pluck();
  const arrivalAfterThose = database.prepare(nextArrival);
  const joinsOfCall = database.prepare(
    `select handler, seen, progress from joins where call_id = ${asText('?')} order by handler`,
  );

  return {
    eventsOf: (callId: string): CallEventRow[] =>
      (eventsOfCall.all({ key: callKey(callId), callId }) as EventFactsRow[]).map((row) => callEventOf(row)),
    /** The lowest sequence of some events that arrived since then, and where the others begin. */
    lowestSince: (arrival: Arrival) => ({
      lowest: lowest.get(arrival) as Sequence | null,
      next: arrivalAfterThose.get(arrival) as Arrival | undefined,
    }),
    joinsOf: (callId: string): KeptJoin[] => (joinsOfCall.all(callId) as KeptJoinRow[]).map(keptJoinOf),
  };
}

/** Where a list stands. */
export interface ListPosition {
  /** Calls whose first event has this sequence or a later one are done. */
  readonly before: Sequence;
  /** Whether no event that arrived before the filter's `until` has been found yet. */
  readonly isAboveUntil: boolean;
  /** Arrivals since the filter's `since` and before this one are done. */
  readonly arrival: Arrival | undefined;
}

/** What one look found, and where the next one begins once other work has run; undefined at the end. */
export interface ListLook {
  readonly calls: readonly ListedCall[];
  readonly next: ListPosition | undefined;
}

/**
 * The bounds of one look: together some ten milliseconds, for which intake can wait. Each event takes one index seek
 * for each era; computing a call takes another seek for each era, and reads its events.
 */
const eventsAtOnce = 1_000;
const erasAtOnce = 16_000;
const countedAtOnce = 400;

/** Where a list begins: at its cursor, or at the end of the inbox. */
export function listPositionOf({ since, until, cursor }: CallFilter): ListPosition {
  return {
    before: numberIn('calls', cursor) ?? Number.MAX_SAFE_INTEGER,
    isAboveUntil: until !== undefined && cursor === undefined,
    arrival: since === undefined ? undefined : { receivedAt: since, sequence: 0 },
  };
}

/** Lists calls by their first event, latest first, by walking the inbox backwards in short looks. */
export function prepareCallList(database: Database.Database, eventsOf: (callId: string) => CallEventRow[]) {
  const lastBefore = database.prepare('select max(sequence) from events where sequence < ?').pluck();
  const ofCall = (condition: string) =>
    `${indexedOfCall('1', 'e.call_key')}
       cross join events o on o.sequence = i.sequence and o.call_id = e.call_id where ${condition}`;
  // An event that arrived before `since` is not the first of a matching call. That comes first, because the index of
  // calls costs more. The condition on the agent only saves computing calls: `matchesCall` decides. Events that are not
  // in the index yet are read once for all rows.
  const [since, agentId] = [asInteger('@since'), asText('@agentId')];
  const firstEvents = database.prepare(`
    select e.sequence, e.call_id as callId from events e
    where e.sequence between ${asInteger('@from')} and ${asInteger('@to')} and e.call_id is not null
      and (${since} is null or e.received_at >= ${since})
      and (e.sequence <= (select indexed_sequence from event_totals) or e.sequence in (
        select min(sequence) from events where ${isUnindexed} and call_id is not null group by call_id))
      and not exists (${ofCall('eras.era <= e.sequence >> 16 and i.sequence < e.sequence')})
      and (${agentId} is null
        or e.call_id in (select call_id from events where ${isUnindexed} and agent_id = ${agentId})
        or exists (${ofCall(`o.agent_id = ${agentId}`)}))
    order by e.sequence desc`);
  const lastBelowUntil = database
    .prepare('select max(sequence) from events where sequence between ? and ? and received_at < ?')
    .pluck();
  const eraCount = prepareEraCount(database);
  const arrivalBefore = database.prepare(`
    select * from (${arrivals} limit ${arrivalsAtOnce}) where sequence < @before limit 1`);
  const arrivalAfterThose = database.prepare(nextArrival);

  /**
   * Skips events that arrived at `until` or later: a call whose first event is among them doesn't match.
   */
  const goBelowUntil = (position: ListPosition, to: Sequence, until: number): ListPosition => {
    const from = to - arrivalsAtOnce + 1;
    const found = lastBelowUntil.get(from, to, until) as Sequence | null;
    return found === null
      ? { ...position, before: from }
      : { ...position, before: found + 1, isAboveUntil: false };
  };

  const walk = (filter: CallFilter, position: ListPosition, to: Sequence, wanted: number): ListLook => {
    const eras = eraCount();
    const from = to - Math.min(eventsAtOnce, Math.ceil(erasAtOnce / eras)) + 1;
    const range = { from, to, since: filter.since ?? null, agentId: filter.agentId ?? null };
    const calls: ListedCall[] = [];
    let counted = 0;
    for (const row of firstEvents.iterate(range)) {
      const { sequence, callId } = row as { sequence: Sequence; callId: string };
      const events = eventsOf(callId);
      const call = callRecordOf(callId, events);
      if (matchesCall(call, filter)) calls.push({ sequence, call });
      counted += events.length + eras;
      const isEnough = calls.length === wanted || counted >= countedAtOnce;
      if (isEnough) return { calls, next: { ...position, before: sequence } };
    }
    return { calls, next: { ...position, before: from } };
  };

  return (filter: CallFilter, position: ListPosition, wanted: number): ListLook => {
    const { before, isAboveUntil, arrival } = position;
    const to = lastBefore.get(before) as Sequence | null;
    if (to === null) return { calls: [], next: undefined };
    if (isAboveUntil && filter.until !== undefined) {
      return { calls: [], next: goBelowUntil(position, to, filter.until) };
    }
    if (!arrival) return walk(filter, position, to, wanted);
    // The orders of sequences and times of arrival differ if a delivery came out of quarantine or a clock was set. So
    // the list ends only when all that arrived since `since` is done.
    const earlier = arrivalBefore.get({ ...arrival, before }) as Arrival | undefined;
    if (earlier) return walk(filter, { ...position, arrival: earlier }, to, wanted);
    const rest = arrivalAfterThose.get(arrival) as Arrival | undefined;
    return { calls: [], next: rest && { ...position, arrival: rest } };
  };
}
