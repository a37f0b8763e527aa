import type { Kept, KeptIn, Look } from '../../retention-store.ts';
import type { Session } from '../connection/session.ts';
import { fromText, fromTextOrUndefined } from '../connection/text.ts';
import { oneRow } from '../connection/transaction.ts';

/** What one look goes through at the most. */
const atOnce = 200;
/** How many events a look for those without a call passes over at the most. */
const passedAtOnce = 5_000;
const bytesAtOnce = 4 * 1024 * 1024;

interface KeptRow {
  readonly key: number;
  readonly call_id: string | null;
  readonly trace_id: string | null;
  readonly body: Buffer | null;
  readonly text: string | null;
  readonly more: string | null;
}

const newLine = 'chr(10)';
// The stored headers don't repeat the event's name and trace id, which are in its row.
const ofEvent = ['headers', 'facts', 'trace_id', 'event_name', "coalesce(agent_id, '')"].join(
  ` || ${newLine} || `,
);
const events = (condition: string) => `
  select sequence as key, call_id, trace_id, body, ${ofEvent} as text,
    (select string_agg(reason, ${newLine}) from (
       select reason from ringback.runs r where r.sequence = e.sequence union all
       select reason from ringback.failures f where f.sequence = e.sequence) reasons) as more
  from ringback.events e join ringback.bodies b using (sequence) where sequence > $1 and sequence <= $2 ${condition}`;

const looks: Readonly<Record<KeptIn, string>> = {
  events: events(''),
  events_without_call: events('and call_id is null'),
  quarantine: `select id as key, null as call_id, null as trace_id, body, headers as text, null as more
    from ringback.quarantine where id > $1 and id <= $2`,
  audit: `select id as key, null as call_id, null as trace_id, null::bytea as body, what as text,
      coalesce(requested_by, '') || ${newLine} || coalesce(reason, '') as more
    from ringback.audit where id > $1 and id <= $2`,
  failure_groups: `select id as key, null as call_id, null as trace_id, null::bytea as body, message as text, null as more
    from ringback.failure_groups where id > $1 and id <= $2`,
};

const keys: Readonly<Record<KeptIn, readonly [table: string, key: string]>> = {
  events: ['events', 'sequence'],
  events_without_call: ['events', 'sequence'],
  quarantine: ['quarantine', 'id'],
  audit: ['audit', 'id'],
  failure_groups: ['failure_groups', 'id'],
};

/** Looks at some of what is kept, for what is to be erased. */
export async function look(session: Session, where: KeptIn, after: number): Promise<Look> {
  const [table, key] = keys[where];
  const { first, last } = await oneRow<{ first: number | null; last: number | null }>(
    session,
    `select min(${key}) as first, max(${key}) as last from ringback.${table} where ${key} > $1`,
    [after],
  );
  if (first === null || last === null) return { found: [], next: undefined };
  const until = first - 1 + (where === 'events_without_call' ? passedAtOnce : atOnce);
  const rows = await session.query<KeptRow>(
    `select key, call_id, trace_id, body, text, more from (
       select *, sum(coalesce(octet_length(body), 0)) over (order by key) - coalesce(octet_length(body), 0) as before
       from (${looks[where]}) looked) sized
     where before < ${bytesAtOnce} order by key limit ${atOnce}`,
    [after, until],
  );
  const isFull = rows.length === atOnce || bytesOf(rows) >= bytesAtOnce;
  const reached = isFull ? rows.at(-1)?.key : undefined;
  return { found: rows.map(keptOf), next: reached ?? (until < last ? until : undefined) };
}

const bytesOf = (rows: readonly KeptRow[]): number =>
  rows.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);

function keptOf({ key, call_id: callId, trace_id: traceId, body, text, more }: KeptRow): Kept {
  const texts = [text, more].filter((content) => content !== null).map(fromText);
  return {
    key,
    callId: fromTextOrUndefined(callId),
    traceId: fromTextOrUndefined(traceId),
    contents: body === null ? texts : [body, ...texts],
  };
}
