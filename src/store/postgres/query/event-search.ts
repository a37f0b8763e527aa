import { type Found, type SearchRange, foundIn, windowOf } from '../../shared/event-rows.ts';
import type { EventFilter } from '../../event-store.ts';
import type { Sequence } from '../../event-record.ts';
import type { Session } from '../connection/session.ts';
import { oneRow } from '../connection/transaction.ts';
import { eventState, isOpen } from './event-state.ts';

/** How many sequences one look goes through at most: a filter with few matches must not time out. */
const window = 20_000;

/** The states that few events are in, each with its own index. */
const fewInState: Readonly<Record<string, string>> = {
  new: `select sequence from ringback.waiting union all select sequence from ringback.claims
    union all select sequence from ringback.all_owned`,
  open: `select sequence from ringback.runs where ${isOpen}`,
  dead: "select sequence from ringback.runs where state = 'dead'",
};

/**
 * Finds events by a filter. If an index leads to few events, one look of a list goes through all of them. A replay takes a
 * hundred events at a time, in order of arrival: it would sort all of them each time, and goes through a window of the
 * inbox instead.
 */
export async function findEvents(session: Session, filter: EventFilter, range: SearchRange): Promise<Found> {
  const { callId, failure, state } = filter;
  const isFew = failure !== undefined || (state !== undefined && state in fewInState);
  const isWhole = callId !== undefined || (isFew && range.latestFirst);
  const looked = isWhole ? range : windowOf(range, window);
  const { from, to, limit, latestFirst } = looked;
  const values: unknown[] = [from, to, limit];
  const where = conditionsOf(filter, values).join(' and ');
  const order = `order by sequence ${latestFirst ? 'desc' : 'asc'}`;
  const few = isFew && callId === undefined ? fewOf(filter, values) : undefined;
  const rows = await session.query<{ sequence: Sequence }>(
    few === undefined
      ? `select sequence from ringback.events e where sequence between $1 and $2 and ${where} ${order} limit $3`
      : // "offset 0" keeps the planner from going through all events in the hope of finding matches soon.
        `select sequence from (
           select distinct sequence from (${few}) s where sequence between $1 and $2 ${order} offset 0) f
         where exists (select from ringback.events e where e.sequence = f.sequence and ${where} offset 0)
         ${order} limit $3`,
    values,
  );
  return foundOf(
    session,
    range,
    looked,
    rows.map(({ sequence }) => sequence),
  );
}

/**
 * The result of one look at a part of a range. If it found nothing, the next one begins at an event: in between may be
 * millions of numbers that duplicates were given, or events that are removed, and going through these takes minutes.
 */
export async function foundOf(
  session: Session,
  range: SearchRange,
  looked: SearchRange,
  sequences: readonly Sequence[],
): Promise<Found> {
  const found = foundIn(looked, sequences);
  const { from, to, latestFirst } = range;
  if (sequences.length > 0 || found.reached === (latestFirst ? from : to)) return found;
  const { next } = await oneRow<{ next: Sequence | null }>(
    session,
    latestFirst
      ? 'select max(sequence) as next from ringback.events where sequence < $1'
      : 'select min(sequence) as next from ringback.events where sequence > $1',
    [found.reached],
  );
  const reached = latestFirst ? Math.max(from, (next ?? 0) + 1) : Math.min(to, (next ?? Infinity) - 1);
  return { sequences, reached };
}

/** SQL: the few events among which a filter's matches are. */
function fewOf({ failure, state, handler }: EventFilter, values: unknown[]): string | undefined {
  if (failure !== undefined)
    return `select sequence from ringback.runs where failure = $${values.push(failure)}`;
  const few = state && fewInState[state];
  const isOfHandler = state === 'dead' && handler !== undefined;
  return isOfHandler ? `${few} and handler = $${values.push(handler)}` : few;
}

/** SQL: the conditions of a filter. Adds their parameters to `values`. */
function conditionsOf(filter: EventFilter, values: unknown[]): string[] {
  const { eventName, callId, agentId, state, handler, since, until, traceId, failure } = filter;
  const add = (value: unknown): string => `$${values.push(value)}`;
  const when = <T>(value: T | undefined, sql: (value: T) => string): string[] =>
    value === undefined ? [] : [sql(value)];
  return [
    'true',
    ...when(eventName, (name) => `event_name = ${add(name)}`),
    ...when(callId, (id) => `call_id = ${add(id)}`),
    ...when(agentId, (id) => `agent_id = ${add(id)}`),
    ...when(since, (time) => `received_at >= ${add(time)}`),
    ...when(until, (time) => `received_at < ${add(time)}`),
    ...when(traceId, (id) => `trace_id = ${add(id)}`),
    ...when(
      failure,
      (id) => `exists (select from ringback.runs f where f.sequence = e.sequence and f.failure = ${add(id)})`,
    ),
    ...when(handler, (name) => {
      const dead = state === 'dead' ? "and h.state = 'dead'" : '';
      return `exists (select from ringback.runs h where h.sequence = e.sequence and h.handler = ${add(name)} ${dead})`;
    }),
    ...when(state, (wanted) => {
      return wanted === 'dead'
        ? "exists (select from ringback.runs d where d.sequence = e.sequence and d.state = 'dead')"
        : `${eventState} = '${wanted}'`;
    }),
  ];
}
