import type Database from 'better-sqlite3';
import type { ErasureStep, EventCount, Kept, KeptIn, Look } from '../../retention-store.ts';
import type { Sequence } from '../../event-record.ts';
import { callKey, fromEventsOfCall } from '../work/call-index.ts';
import { erasedIdentity } from '../../identity.ts';
import { identityKey } from '../../shared/identity-key.ts';
import type { ForgetCall, Removable, Remove } from './removal.ts';

/** What one step looks at or removes at the most: deliveries wait for it. */
const atOnce = 200;
/**
 * How many events a look for those without a call passes over at the most: most have a call, and are passed over
 * quickly.
 */
const passedAtOnce = 5_000;
const bytesAtOnce = 4 * 1024 * 1024;

interface KeptRow {
  readonly key: number;
  readonly callId: string | null;
  readonly traceId: string | null;
  readonly body: Buffer | null;
  readonly text: string | null;
  readonly more: string | null;
}

/** Looks for what is to be erased, and erases it. All functions but `look` run inside a transaction of the caller's. */
export function prepareErasure(
  database: Database.Database,
  { remove, forgetCall }: { readonly remove: Remove; readonly forgetCall: ForgetCall },
) {
  // The stored headers don't repeat the event's name and trace id, which are in its row.
  const kept =
    "headers || char(10) || facts || char(10) || trace_id || char(10) || event_name || char(10) || coalesce(agent_id, '')";
  const reasons = `(select group_concat(reason, char(10)) from (
    select reason from runs r where r.sequence = e.sequence union all
    select reason from failures f where f.sequence = e.sequence))`;
  const looks: Record<KeptIn, Database.Statement> = {
    events: database.prepare(`
      select sequence as key, call_id as callId, trace_id as traceId, body, ${kept} as text, ${reasons} as more
      from events e join bodies b using (sequence) where sequence > @after and sequence <= @until order by sequence`),
    events_without_call: database.prepare(`
      select sequence as key, call_id as callId, trace_id as traceId, body, ${kept} as text, ${reasons} as more
      from events e join bodies b using (sequence) where sequence > @after and sequence <= @until and call_id is null order by sequence`),
    quarantine: database.prepare(`
      select id as key, null as callId, null as traceId, body, headers as text, null as more
      from quarantine where id > @after and id <= @until order by id`),
    audit: database.prepare(`
      select id as key, null as callId, null as traceId, null as body, what as text,
        coalesce(requested_by, '') || char(10) || coalesce(reason, '') as more
      from audit where id > @after and id <= @until order by id`),
    failure_groups: database.prepare(`
      select id as key, null as callId, null as traceId, null as body, message as text, null as more
      from failure_groups where id > @after and id <= @until order by id`),
  };
  const first = (table: string, key: string) =>
    database.prepare(`select min(${key}) as first, max(${key}) as last from ${table} where ${key} > ?`);
  const ranges: Record<KeptIn, Database.Statement> = {
    events: first('events', 'sequence'),
    events_without_call: first('events', 'sequence'),
    quarantine: first('quarantine', 'id'),
    audit: first('audit', 'id'),
    failure_groups: first('failure_groups', 'id'),
  };
  // The first events in the order of the index are enough: the next step finds the others.
  const eventsOfCall = database.prepare(`
    select e.sequence, e.call_id as callId ${fromEventsOfCall} limit ${atOnce}`);
  const eventBySequence = database.prepare(
    'select sequence, call_id as callId from events where sequence = ?',
  );
  const runsOfEvent = '(select count(*) from runs r where r.sequence = e.sequence)';
  const runsOfCall = database.prepare(`select ${runsOfEvent} as runs ${fromEventsOfCall}`).pluck();
  const runsOf = database.prepare(`select ${runsOfEvent} as runs from events e where sequence = ?`).pluck();
  // With the next event's era: a filter of it is made only when that era is over.
  const keepErased = database.prepare(`
    insert into identities (era, identity, sequence, expires_at)
    select (last_sequence + 1) >> 16, @identity, null, @until from event_totals where true
    on conflict do update set expires_at = excluded.expires_at`);
  const deleteQuarantined = database.prepare('delete from quarantine where id = ?');
  const clearGroup = database.prepare("update failure_groups set message = '' where id = ?");
  const clearAudit = database.prepare(
    "update audit set requested_by = null, reason = null, what = '' where id = ?",
  );

  return {
    look(where: KeptIn, after: number): Look {
      const range = ranges[where].get(after) as { first: number | null; last: number | null };
      if (range.first === null || range.last === null) return { found: [], next: undefined };
      const until = range.first - 1 + (where === 'events_without_call' ? passedAtOnce : atOnce);
      const found: Kept[] = [];
      let bytes = 0;
      for (const row of looks[where].iterate({ after, until }) as Iterable<KeptRow>) {
        found.push(keptOf(row));
        bytes += row.body?.length ?? 0;
        if (found.length === atOnce || bytes >= bytesAtOnce) return { found, next: row.key };
      }
      return { found, next: until < range.last ? until : undefined };
    },

    countCall: (callId: string): EventCount =>
      countOf(runsOfCall.all({ key: callKey(callId), callId }) as number[]),

    countEvents: (sequences: readonly Sequence[]): EventCount =>
      countOf(sequences.flatMap((sequence) => runsOf.all(sequence) as number[])),

    eraseCall(callId: string, traceIdsUntil: number): ErasureStep {
      const events = eventsOfCall.all({ key: callKey(callId), callId }) as Removable[];
      const removed = remove(events, traceIdsUntil);
      if (events.length === 0) forgetCall(callId);
      keepErased.run({ identity: identityKey(erasedIdentity(callId)), until: traceIdsUntil });
      return { ...removed, hasMore: events.length === atOnce };
    },

    eraseEvents(sequences: readonly Sequence[], traceIdsUntil: number): ErasureStep {
      const events = sequences.map((sequence) => eventBySequence.get(sequence) as Removable | undefined);
      const removed = remove(
        events.filter((event) => event !== undefined),
        traceIdsUntil,
      );
      return { ...removed, hasMore: false };
    },

    eraseQuarantined: (ids: readonly number[]): number =>
      ids.reduce((erased, id) => erased + deleteQuarantined.run(id).changes, 0),

    eraseFailureGroups(ids: readonly number[]): void {
      for (const id of ids) clearGroup.run(id);
    },

    eraseAudit(ids: readonly number[]): void {
      for (const id of ids) clearAudit.run(id);
    },
  };
}

function keptOf({ key, callId, traceId, body, text, more }: KeptRow): Kept {
  return {
    key,
    callId: callId ?? undefined,
    traceId: traceId ?? undefined,
    contents: [body, text, more].filter((content) => content !== null),
  };
}

/** Of each event, it is given how many stored runs it has. */
function countOf(runs: readonly number[]): EventCount {
  return { events: runs.length, runs: runs.reduce((sum, ofEvent) => sum + ofEvent, 0) };
}
