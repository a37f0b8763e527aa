import type Database from 'better-sqlite3';
import { defined } from '../../../kit/values.ts';
import { type Found, type SearchRange, foundIn, windowOf } from '../../shared/event-rows.ts';
import type { EventFilter } from '../../event-store.ts';
import type { Sequence } from '../../event-record.ts';
import { callKey, sequencesOfCall } from '../work/call-index.ts';
import { eventState } from './event-state.ts';
import { openSequences } from '../work/open-runs.ts';
import { asText } from '../connection/parameters.ts';

/** How many sequences one look goes through at most: some ten milliseconds, for which intake can wait. */
const window = 20_000;

const conditions: Readonly<Record<Exclude<keyof EventFilter, 'state'>, string>> = {
  eventName: 'event_name = @eventName',
  callId: `sequence in (${sequencesOfCall('@callKey')}) and call_id = ${asText('@callId')}`,
  agentId: 'agent_id = @agentId',
  handler: 'exists (select 1 from runs where runs.sequence = e.sequence and runs.handler = @handler)',
  since: 'received_at >= @since',
  until: 'received_at < @until',
  traceId: 'trace_id = @traceId',
  failure: 'sequence in (select sequence from runs where failure = @failure)',
};

/** The states that few events are in, each with its own index. */
const fewInState: Readonly<Record<string, string>> = {
  new: 'select sequence from waiting union all select sequence from claims',
  open: openSequences,
  dead: "select sequence from runs where state = 'dead' and (@handler is null or handler = @handler)",
};

/**
 * Finds events by a filter. If an index leads to few events, one look goes through all of them. No look reads bodies,
 * which have a table of their own.
 */
export function prepareEventSearch(database: Database.Database) {
  const statements = new Map<string, Database.Statement>();

  const statementFor = (filter: EventFilter, latestFirst: boolean): Database.Statement => {
    const sql = searchSql(filter, latestFirst);
    const statement = statements.get(sql) ?? database.prepare(sql).pluck();
    statements.set(sql, statement);
    return statement;
  };

  return (filter: EventFilter, range: SearchRange): Found => {
    const looked = isIndexed(filter) ? range : windowOf(range, window);
    const { from, to, limit, latestFirst } = looked;
    const key = filter.callId === undefined ? null : callKey(filter.callId);
    const parameters = { ...nulls, ...defined(filter), callKey: key, from, to, limit };
    const sequences = statementFor(filter, latestFirst).all(parameters) as Sequence[];
    return foundIn(looked, sequences);
  };
}

/** The statement of a filter. It has only the given conditions, so that the planner can use them. */
export function searchSql(filter: EventFilter, latestFirst: boolean): string {
  const given = Object.keys(defined(filter)).filter(
    (name) => name in conditions,
  ) as (keyof typeof conditions)[];
  const few = filter.state === undefined ? undefined : fewInState[filter.state];
  const where = [
    'sequence between @from and @to',
    ...given.map((name) => conditions[name]),
    ...(filter.state === undefined || filter.state === 'dead' ? [] : [`${eventState} = '${filter.state}'`]),
    ...(few === undefined ? [] : [`sequence in (${few})`]),
  ];
  return `select sequence from events e where ${where.join(' and ')}
    order by sequence ${latestFirst ? 'desc' : 'asc'} limit @limit`;
}

function isIndexed({ callId, failure, state }: EventFilter): boolean {
  return callId !== undefined || failure !== undefined || (state !== undefined && state in fewInState);
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
