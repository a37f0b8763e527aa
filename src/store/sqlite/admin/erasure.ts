import type Database from 'better-sqlite3';
import type { ErasureStep, EventCount, KeptIn, Look } from '../../retention-store.ts';
import { type Sequence, callKey, erasedIdentity, identityKey } from '../../event-record.ts';
import { asInteger } from '../connection/parameters.ts';
import { fromEventsOfCall } from '../work/call-index.ts';
import { type KeptContentRow, keyAfter, lookBounds, lookOf, lookUntil, looksIn } from '../../shared/looks.ts';
import type { ForgetCall, Removable, Remove } from './removal.ts';

/** How many events one step removes at most: deliveries wait for it. */
const atOnce = 200;

interface ErasureParts {
  readonly remove: Remove;
  readonly forgetCall: ForgetCall;
  /** Notes that the files must be scrubbed. */
  readonly wantScrubbing: () => void;
}

/**
 * Finds what to erase, and erases it. The functions that erase run inside the caller's transaction, in which they note
 * that the files must be scrubbed.
 */
export function prepareErasure(
  database: Database.Database,
  { remove, forgetCall, wantScrubbing }: ErasureParts,
) {
  const sql = looksIn({
    table: (name) => name,
    newLine: 'char(10)',
    reasonsOf: (rows) => `(select group_concat(reason, char(10)) from (${rows}))`,
    noBytes: 'null',
    after: '@after',
    until: '@until',
  });
  const prepareLook = (where: KeptIn) => ({
    range: database.prepare(sql[where].range),
    rows: database.prepare(`${sql[where].rows} order by key`),
  });
  const looks = {
    events: prepareLook('events'),
    events_without_call: prepareLook('events_without_call'),
    quarantine: prepareLook('quarantine'),
    audit: prepareLook('audit'),
    failure_groups: prepareLook('failure_groups'),
  };
  // In no order: the next step finds the other events.
  const eventsOfCall = database.prepare(`
    select e.sequence, e.call_id as callId ${fromEventsOfCall} and e.sequence is not ${asInteger('@last')} limit ${atOnce}`);
  const eventBySequence = database.prepare(
    'select sequence, call_id as callId from events where sequence = ?',
  );
  const runsOfEvent = '(select count(*) from runs r where r.sequence = e.sequence)';
  const runsOfCall = database.prepare(`select ${runsOfEvent} as runs ${fromEventsOfCall}`).pluck();
  const runsOf = database.prepare(`select ${runsOfEvent} as runs from events e where sequence = ?`).pluck();
  // In the era of the next event, which has no filter yet.
  const keepErased = database.prepare(`
    insert into identities (era, identity, sequence, expires_at)
    select (last_sequence + 1) >> 16, @identity, null, @until from event_totals where true
    on conflict do update set expires_at = excluded.expires_at`);
  const deleteQuarantined = database.prepare('delete from quarantine where id = ?');
  const unusedGroups = `select id from failure_groups where message <> ''
    and not exists (select 1 from runs where failure = fingerprint)`;
  const anyUnusedGroup = database.prepare(`${unusedGroups} limit 1`);
  const clearUnusedGroups = database.prepare(
    `update failure_groups set message = '' where id in (${unusedGroups})`,
  );
  const clearGroup = database.prepare("update failure_groups set message = '' where id = ?");
  const clearAudit = database.prepare(
    "update audit set requested_by = null, reason = null, what = '' where id = ?",
  );
  const clearPause = database.prepare(
    'update paused_handlers set paused_by = null, reason = null where handler = ?',
  );

  return {
    look(where: KeptIn, after: string | undefined): Look {
      const from = keyAfter(after);
      const { first, last } = looks[where].range.get({ after: from }) as {
        first: number | null;
        last: number | null;
      };
      if (first === null || last === null) return lookOf([], undefined);
      const until = lookUntil(where, first);
      const rows: KeptContentRow[] = [];
      let bytes = 0;
      for (const row of looks[where].rows.iterate({ after: from, until }) as Iterable<KeptContentRow>) {
        rows.push(row);
        bytes += row.body?.length ?? 0;
        if (rows.length === lookBounds.rows || bytes >= lookBounds.bytes) return lookOf(rows, row.key);
      }
      return lookOf(rows, until < last ? until : undefined);
    },

    countCall: (callId: string): EventCount =>
      countOf(runsOfCall.all({ key: callKey(callId), callId }) as number[]),

    countEvents: (sequences: readonly Sequence[]): EventCount =>
      countOf(sequences.flatMap((sequence) => runsOf.all(sequence) as number[])),

    eraseCall(callId: string, traceIdsUntil: number, last?: Sequence): ErasureStep {
      wantScrubbing();
      const found = eventsOfCall.all({ key: callKey(callId), callId, last: last ?? null }) as Removable[];
      const hasMore = found.length === atOnce;
      const events = hasMore || last === undefined ? found : [...found, { sequence: last, callId }];
      const removed = remove(events, traceIdsUntil);
      if (events.length === 0) forgetCall(callId);
      keepErased.run({ identity: identityKey(erasedIdentity(callId)), until: traceIdsUntil });
      return { ...removed, hasMore };
    },

    eraseEvents(sequences: readonly Sequence[], traceIdsUntil: number): ErasureStep {
      wantScrubbing();
      const events = sequences.map((sequence) => eventBySequence.get(sequence) as Removable | undefined);
      const removed = remove(
        events.filter((event) => event !== undefined),
        traceIdsUntil,
      );
      return { ...removed, hasMore: false };
    },

    eraseQuarantined(ids: readonly number[]): number {
      wantScrubbing();
      return ids.reduce((erased, id) => erased + deleteQuarantined.run(id).changes, 0);
    },

    /** Whether there is a message to clear: otherwise the disk is left alone. */
    hasUnusedGroups: (): boolean => anyUnusedGroup.get() !== undefined,
    clearUnusedGroups: (): void => void clearUnusedGroups.run(),

    eraseFailureGroups(ids: readonly number[]): void {
      wantScrubbing();
      for (const id of ids) clearGroup.run(id);
    },

    eraseAudit(ids: readonly number[]): void {
      wantScrubbing();
      for (const id of ids) clearAudit.run(id);
    },

    erasePause(handler: string): void {
      wantScrubbing();
      clearPause.run(handler);
    },
  };
}

/** Counts events, by a list of the number of stored runs of each. */
function countOf(runs: readonly number[]): EventCount {
  return { events: runs.length, runs: runs.reduce((sum, ofEvent) => sum + ofEvent, 0) };
}
