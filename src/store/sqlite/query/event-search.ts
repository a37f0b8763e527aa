import type Database from 'better-sqlite3';
import { defined } from '../../../kit/values.ts';
import { type Found, type SearchRange, foundIn, windowOf } from '../../shared/event-rows.ts';
import type { EventFilter } from '../../event-store.ts';
import { type Sequence, callKey } from '../../event-record.ts';
import { sequencesOfCall } from '../work/call-index.ts';
import { openSequences, eventState } from '../work/open-runs.ts';
import { asText } from '../connection/parameters.ts';

/**
 * How many events one look goes through at most, by their sequence or by an index: some ten milliseconds, for which
 * intake can wait.
 */
const window = 20_000;

/** Conditions on an event, which hold or don't. That of a call also leads to its events. */
const conditions: Readonly<Record<Exclude<keyof EventFilter, 'state'>, string>> = {
  eventName: 'event_name = @eventName',
  callId: `sequence in (select sequence from (${sequencesOfCall('@callKey')}) where sequence between @from and @to)
    and call_id = ${asText('@callId')}`,
  agentId: 'agent_id = @agentId',
  handler: 'exists (select 1 from runs where runs.sequence = e.sequence and runs.handler = @handler)',
  since: 'received_at >= @since',
  until: 'received_at < @until',
  traceId: 'trace_id = @traceId',
  failure: 'exists (select 1 from runs where runs.sequence = e.sequence and runs.failure = @failure)',
};
const dead = `exists (select 1 from runs where runs.sequence = e.sequence and runs.state = 'dead'
  and (@handler is null or runs.handler = @handler))`;

/** By which parts of a filter an index finds events. */
const found = {
  callId: sequencesOfCall('@callKey'),
  failure: 'select sequence from runs where failure = @failure',
  new: 'select sequence from waiting union all select sequence from claims',
  open: openSequences,
  dead: "select sequence from runs where state = 'dead'",
} as const;
type Index = keyof typeof found;

/**
 * Finds events by a filter. If an index leads to few events, one look of a list goes through all of them. A replay takes
 * a hundred events at a time, in order of arrival: it would go through all of them each time, and goes through a window
 * of the inbox instead. No look reads bodies, which have a table of their own.
 */
export function prepareEventSearch(database: Database.Database) {
  const statements = new Map<string, Database.Statement>();

  const prepared = (sql: string): Database.Statement => {
    const statement = statements.get(sql) ?? database.prepare(sql).pluck();
    statements.set(sql, statement);
    return statement;
  };

  return (filter: EventFilter, range: SearchRange): Found => {
    const key = filter.callId === undefined ? null : callKey(filter.callId);
    const given = { ...nulls, ...defined(filter), callKey: key };
    // Of a hundred thousand dead letters, say, the index would give all at once, in the order in which they died.
    const isFew = (name: Index) => prepared(isMoreSql(name)).get(given) === undefined;
    const index = range.latestFirst ? indexesFor(filter).find(isFew) : undefined;
    const looked = index === undefined ? windowOf(range, window) : range;
    const { from, to, limit, latestFirst } = looked;
    const sql = searchSql(filter, latestFirst, index);
    return foundIn(looked, prepared(sql).all({ ...given, from, to, limit }) as Sequence[]);
  };
}

/** The indexes that lead to the events of a filter. */
export function indexesFor({ callId, failure, state }: EventFilter): readonly Index[] {
  return [
    ...(callId === undefined ? [] : ['callId' as const]),
    ...(failure === undefined ? [] : ['failure' as const]),
    ...(state === undefined || state === 'done' ? [] : [state]),
  ];
}

/** SQL: a row if an index leads to more events than one look may go through. */
function isMoreSql(index: Index): string {
  return `select 1 from (${found[index]}) limit 1 offset ${window}`;
}

/**
 * The statement of a filter, by an index or by sequence. It has only the given conditions, so that the planner can use
 * them.
 */
export function searchSql(filter: EventFilter, latestFirst: boolean, index: Index | undefined): string {
  const { state, handler, failure } = filter;
  const given = Object.keys(defined(filter)).filter(
    (name) => name in conditions,
  ) as (keyof typeof conditions)[];
  const needsRun = handler !== undefined || failure !== undefined || state === 'open' || state === 'dead';
  // Most runs have no row, so this skips most events.
  const withRuns = needsRun ? 'select sequence from runs where sequence between @from and @to' : undefined;
  // The condition on a call leads to its events already.
  const among = index === undefined ? withRuns : index === 'callId' ? undefined : found[index];
  const where = [
    'sequence between @from and @to',
    ...given.map((name) => conditions[name]),
    ...(state === undefined ? [] : [state === 'dead' ? dead : `${eventState} = '${state}'`]),
    ...(among === undefined ? [] : [`sequence in (${among})`]),
  ];
  return `select sequence from events e where ${where.join(' and ')}
    order by sequence ${latestFirst ? 'desc' : 'asc'} limit @limit`;
}

/** A value for every parameter, which the driver requires for those that a statement names. */
const nulls = {
  eventName: null,
  callId: null,
  agentId: null,
  handler: null,
  since: null,
  until: null,
  traceId: null,
  failure: null,
};
