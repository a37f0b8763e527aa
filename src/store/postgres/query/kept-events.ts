import {
  type FailureRow,
  type KeptEventRow,
  type KeptRunRow,
  type StoredEventRow,
  duplicateColumns,
  keptEventOf,
  storedEventOf,
  withFailures,
} from '../../shared/event-rows.ts';
import type { EventStretch, KeptEvent, KeptEventWithBytes, StoredEvent } from '../../event-store.ts';
import {
  type Sequence,
  bodyIdentity,
  headerIdentity,
  identityKey,
  signedHeaderIdentity,
} from '../../event-record.ts';
import { storedJson } from '../../shared/altered-rows.ts';
import type { Session } from '../connection/session.ts';
import { oneRow } from '../connection/transaction.ts';
import { eventState } from './event-state.ts';

interface SummaryRow extends KeptEventRow {
  readonly runs: readonly KeptRunRow[];
}

/** The most bytes of bodies in one stretch: they are in memory together. */
const stretchBytes = 4 * 1024 * 1024;

const summary = `e.sequence, e.trace_id, e.source, e.event_name, e.call_id, e.organization_id, e.agent_id, e.occurred_at,
  e.received_at, ${duplicateColumns}, ${eventState} as state, (
    select coalesce(json_agg(r order by r.handler), '[]') from ringback.runs r where r.sequence = e.sequence) as runs`;

/** The event with a trace id. If two have it, in one's body and the other's header, prefers one that is not done. */
export async function eventWithTraceId(
  session: Session,
  traceId: string,
): Promise<KeptEventWithBytes | undefined> {
  const names = [bodyIdentity(traceId), signedHeaderIdentity(traceId), headerIdentity(traceId), traceId];
  const [row] = await session.query<SummaryRow & StoredEventRow>(
    `select ${summary}, b.headers, b.body
     from ringback.identities i join ringback.events e using (sequence) join ringback.bodies b using (sequence)
       left join ringback.duplicates d using (sequence)
     where i.identity = any ($1) and e.trace_id = $2 order by ${eventState} = 'done', e.sequence limit 1`,
    [names.map(identityKey), traceId],
  );
  if (!row) return undefined;
  const failures = await session.query<FailureRow>(
    `select handler, attempt, at, duration, outcome, cause, location, reason from ringback.failures
     where sequence = $1 order by handler, number desc`,
    [row.sequence],
  );
  const event = keptEvent(row);
  const headers = storedJson(row.headers, 'bodies.headers', row.sequence);
  return { ...event, runs: withFailures(event.runs, failures), headers, body: row.body };
}

/** Events without their bodies, latest first. */
export async function summariesOf(session: Session, sequences: readonly Sequence[]): Promise<KeptEvent[]> {
  const rows = await session.query<SummaryRow>(
    `select ${summary} from ringback.events e left join ringback.duplicates d using (sequence)
     where e.sequence = any ($1) order by e.sequence desc`,
    [sequences],
  );
  return rows.map(keptEvent);
}

/** Events with their bodies, up to `stretchBytes`. `reached` is where the search for `sequences` ended. */
export async function stretchOf(
  session: Session,
  sequences: readonly Sequence[],
  reached: Sequence,
): Promise<EventStretch> {
  const rows = await session.query<StoredEventRow>(
    `select e.sequence, e.trace_id, e.source, e.event_name, e.call_id, e.received_at, b.headers, b.body from (
       select sequence, sum(octet_length(body)) over (order by sequence) - octet_length(body) as before
       from ringback.bodies where sequence = any ($1)) sized
     join ringback.events e using (sequence) join ringback.bodies b using (sequence)
     where sized.before < $2 order by e.sequence`,
    [sequences, stretchBytes],
  );
  const events = rows.map(storedEventOf);
  const last = events.at(-1)?.sequence;
  const isCut =
    last !== undefined && sequences.some((sequence) => sequence > last) && bytesOf(events) >= stretchBytes;
  return { events, reached: isCut ? last : reached };
}

const bytesOf = (events: readonly StoredEvent[]): number =>
  events.reduce((sum, { body }) => sum + body.byteLength, 0);

const keptEvent = (row: SummaryRow): KeptEvent => keptEventOf(row, row.runs);

/** The sequence of the latest event; 0 if there is none. */
export async function lastSequence(session: Session): Promise<Sequence> {
  const { last } = await oneRow<{ last: number | null }>(
    session,
    'select max(sequence) as last from ringback.events',
  );
  return last ?? 0;
}

/** The lowest sequence of the events that arrived since a time, if any. */
export async function firstSequenceSince(session: Session, since: number): Promise<Sequence | undefined> {
  // "offset 0" keeps the planner from going through all events in order of their sequences instead.
  const { first } = await oneRow<{ first: number | null }>(
    session,
    `select min(sequence) as first from (
       select sequence from ringback.events where received_at >= $1 offset 0) arrived`,
    [since],
  );
  return first ?? undefined;
}
