import {
  type FailureRow,
  type KeptEventRow,
  type KeptRunRow,
  type StoredEventRow,
  keptEventOf,
  storedEventOf,
  withFailures,
} from '../../shared/event-rows.ts';
import type { EventStretch, KeptEvent, KeptEventWithBytes, StoredEvent } from '../../event-store.ts';
import { bodyIdentity, headerIdentity, signedHeaderIdentity } from '../../identity.ts';
import { identityKey } from '../../shared/identity-key.ts';
import { storedJson } from '../../shared/stored-json.ts';
import type { Sequence } from '../../event-record.ts';
import type { Session } from '../connection/session.ts';
import { fromText, toText } from '../connection/text.ts';
import { oneRow } from '../connection/transaction.ts';
import { eventState } from './event-state.ts';

interface SummaryRow extends KeptEventRow {
  readonly runs: readonly KeptRunRow[];
}

/** A stretch ends here even when more events were asked for: they are in memory together. */
const stretchBytes = 4 * 1024 * 1024;

const summary = `e.sequence, e.trace_id, e.source, e.event_name, e.call_id, e.organization_id, e.agent_id, e.occurred_at,
  e.received_at, ${eventState} as state, (
    select coalesce(json_agg(r order by r.handler), '[]') from ringback.runs r where r.sequence = e.sequence) as runs`;

/**
 * The event with a trace id. A trace id in one event's body and the same one in another's header are two events; of these, one
 * that is not done is preferred.
 */
export async function eventWithTraceId(
  session: Session,
  traceId: string,
): Promise<KeptEventWithBytes | undefined> {
  const names = [bodyIdentity(traceId), signedHeaderIdentity(traceId), headerIdentity(traceId), traceId];
  const [row] = await session.query<SummaryRow & StoredEventRow>(
    `select ${summary}, b.headers, b.body
     from ringback.identities i join ringback.events e using (sequence) join ringback.bodies b using (sequence)
     where i.identity = any ($1) and e.trace_id = $2 order by ${eventState} = 'done', e.sequence limit 1`,
    [names.map(identityKey), toText(traceId)],
  );
  if (!row) return undefined;
  const failures = await session.query<FailureRow>(
    `select handler, attempt, at, duration, outcome, cause, place, reason from ringback.failures
     where sequence = $1 order by handler, number desc`,
    [row.sequence],
  );
  const event = keptEvent(row);
  const headers = storedJson(fromText(row.headers), 'bodies.headers', row.sequence);
  return { ...event, runs: withFailures(event.runs, failures, fromText), headers, body: row.body };
}

/** Events without their bytes, latest first. */
export async function summariesOf(session: Session, sequences: readonly Sequence[]): Promise<KeptEvent[]> {
  const rows = await session.query<SummaryRow>(
    `select ${summary} from ringback.events e where e.sequence = any ($1) order by e.sequence desc`,
    [sequences],
  );
  return rows.map(keptEvent);
}

/** Events with their bytes, as many as may be in memory at once; `reached` is how far the whole list goes. */
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
  const events: StoredEvent[] = rows.map((row) => storedEventOf(row, fromText));
  const last = events.at(-1)?.sequence;
  const isCut =
    last !== undefined && sequences.some((sequence) => sequence > last) && bytesOf(events) >= stretchBytes;
  return { events, reached: isCut ? last : reached };
}

const bytesOf = (events: readonly StoredEvent[]): number =>
  events.reduce((sum, { body }) => sum + body.byteLength, 0);

const keptEvent = (row: SummaryRow): KeptEvent => keptEventOf(row, row.runs, fromText);

/** The sequence of the latest event; 0 if there is none. */
export async function lastSequence(session: Session): Promise<Sequence> {
  const { last } = await oneRow<{ last: number | null }>(
    session,
    'select max(sequence) as last from ringback.events',
  );
  return last ?? 0;
}

/** The lowest sequence of what arrived since a time; undefined if nothing did. */
export async function firstSequenceSince(session: Session, since: number): Promise<Sequence | undefined> {
  // "offset 0" keeps the planner from going through the sequences instead, from the beginning of the inbox.
  const { first } = await oneRow<{ first: number | null }>(
    session,
    `select min(sequence) as first from (
       select sequence from ringback.events where received_at >= $1 offset 0) arrived`,
    [since],
  );
  return first ?? undefined;
}
