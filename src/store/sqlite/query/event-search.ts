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

const hasRun = (condition: string) =>
  `exists (select 1 from runs r where r.sequence = e.sequence and ${condition})`;

const conditions: Readonly<Record<Exclude<keyof EventFilter, 'state'>, string>> = {
  eventName: 'event_name = @eventName',
  callId: `sequence in (select sequence from (${sequencesOfCall('@callKey')}) where sequence between @from and @to)
    and call_id = ${asText('@callId')}`,
  agentId: 'agent_id = @agentId',
  handler: hasRun('r.handler = @handler'),
  since: 'received_at >= @since',
  until: 'received_at < @until',
  traceId: 'trace_id = @traceId',
  failure: hasRun('r.failure = @failure'),
};
const isDead = hasRun("r.state = 'dead' and (@handler is null or r.handler = @handler)");

/** Conditions that few events meet, each with an index that leads to all of them. */
const few = {
  new: 'select sequence from waiting union all select sequence from claims',
  open: openSequences,
  dead: "select sequence from runs where state = 'dead' and (@handler is null or handler = @handler)",
  failure: 'select sequence from runs where failure = @failure',
} as const;

/**
 * Finds events by a filter. If an index leads to few events, one look of a list goes through all of them. A replay takes
 * a hundred events at a time, in order of arrival: it would go through all of them each time, and goes through a window
 * of the inbox instead. No look reads bodies, which have a table of their own.
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
    const looked = range.latestFirst && isIndexed(filter) ? range : windowOf(range, window);
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
  const { state } = filter;
  const where = [
    'sequence between @from and @to',
    ...given.map((name) => conditions[name]),
    ...(state === undefined ? [] : [state === 'dead' ? isDead : `${eventState} = '${state}'`]),
    ...(latestFirst ? indexesOf(filter) : []).map((sequences) => `sequence in (${sequences})`),
  ];
  return `select sequence from events e where ${where.join(' and ')}
    order by sequence ${latestFirst ? 'desc' : 'asc'} limit @limit`;
}

/** SQL: the sequences of few events to which indexes lead. */
function indexesOf({ failure, state }: EventFilter): readonly string[] {
  const ofState = state === undefined || state === 'done' ? [] : [few[state]];
  return [...ofState, ...(failure === undefined ? [] : [few.failure])];
}

function isIndexed(filter: EventFilter): boolean {
  return filter.callId !== undefined || indexesOf(filter).length > 0;
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
