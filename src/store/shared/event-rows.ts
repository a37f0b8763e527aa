/** What the stores in SQL have in common when they read events: the rows of their tables have the same columns. */
import type { EventSource } from '../../events/model.ts';
import type {
  EventState,
  KeptDuplicates,
  KeptEvent,
  KeptRun,
  KeptRunWithFailures,
  StoredEvent,
} from '../event-store.ts';
import type { FailureGroup, KeptFailure } from '../failure-store.ts';
import type { Sequence } from '../event-record.ts';
import type { CrashCounts } from '../claims.ts';
import type { FoundRun } from './found-work.ts';
import { storedJson } from './altered-rows.ts';
import { nextCursor, numberIn } from './cursor.ts';

export interface StoredEventRow {
  readonly sequence: number;
  readonly trace_id: string;
  /** Null: it was delivered. */
  readonly source: EventSource | null;
  readonly event_name: string;
  readonly call_id: string | null;
  readonly received_at: number;
  readonly headers: string;
  readonly body: Buffer;
}

export interface ClaimedEventRow extends StoredEventRow {
  readonly crash_count: number;
  readonly reading_crashes: number;
}

export interface ClaimedRunRow extends ClaimedEventRow {
  readonly handler: string;
  readonly attempts: number;
  readonly replay: number | null;
  readonly replayed_by: string | null;
  readonly replay_reason: string | null;
  /** When the replay ended; null while it runs. */
  readonly replayed_at: number | null;
  /** When the run was due; 0 for at once. */
  readonly was_due_at: number;
}

export interface KeptEventRow extends Omit<StoredEventRow, 'headers' | 'body'> {
  readonly organization_id: string | null;
  readonly agent_id: string | null;
  readonly state: EventState;
  readonly occurred_at: number;
  /** Null, like the two below: no duplicate has been counted. */
  readonly duplicates: number | null;
  readonly first_duplicate_at: number | null;
  readonly last_duplicate_at: number | null;
}

export interface KeptRunRow {
  readonly handler: string;
  readonly state: 'due' | 'claimed' | 'blocked' | 'done' | 'dead';
  readonly attempts: number;
  readonly due_at: number | null;
  readonly reason: string | null;
  readonly settled_at: number | null;
  readonly replay: number | null;
}

export interface FailureRow extends Omit<KeptFailure, 'location'> {
  readonly handler: string;
  readonly location: string | null;
}

export interface FailureGroupRow extends Omit<FailureGroup, 'location' | 'traceId' | 'mutedAt'> {
  readonly mutedAt: number | null;
  readonly location: string | null;
  readonly traceId: string | null;
}

/** Turns a row into the event of the contract, with its body. */
export function storedEventOf(row: StoredEventRow): StoredEvent {
  return {
    sequence: row.sequence,
    traceId: row.trace_id,
    source: row.source ?? 'delivered',
    eventName: row.event_name,
    callId: row.call_id ?? undefined,
    receivedAt: row.received_at,
    headers: storedJson(row.headers, 'bodies.headers', row.sequence),
    body: row.body,
  };
}

/** The same, as it was claimed. */
export function claimedEventOf(row: ClaimedEventRow): StoredEvent & CrashCounts {
  return { ...storedEventOf(row), crashCount: row.crash_count, readingCrashes: row.reading_crashes };
}

export function foundRunOf(row: ClaimedRunRow): Omit<FoundRun, 'claimedBy'> {
  return {
    ...claimedEventOf(row),
    handler: row.handler,
    attempts: row.attempts,
    replay: replayOf(row),
    waitsSince: waitsSince(row),
  };
}

function waitsSince({
  was_due_at: dueAt,
  replay,
  replayed_at,
  received_at,
}: ClaimedRunRow): number | undefined {
  if (dueAt > 0) return dueAt;
  return replay === null ? received_at : (replayed_at ?? undefined);
}

function replayOf({ replay, replayed_by, replay_reason }: ClaimedRunRow) {
  if (replay === null) return undefined;
  return { id: replay, by: replayed_by ?? undefined, reason: replay_reason ?? undefined };
}

/** Turns a row into the event of the contract, without its body. */
export function keptEventOf(row: KeptEventRow, runs: readonly KeptRunRow[]): KeptEvent {
  return {
    sequence: row.sequence,
    traceId: row.trace_id,
    source: row.source ?? 'delivered',
    eventName: row.event_name,
    callId: row.call_id ?? undefined,
    organizationId: row.organization_id ?? undefined,
    agentId: row.agent_id ?? undefined,
    state: row.state,
    occurredAt: row.occurred_at,
    receivedAt: row.received_at,
    duplicates: duplicatesOf(row),
    runs: runs.map(keptRunOf),
  };
}

/** SQL: the columns of an event's duplicates, if the table is joined as `d`. */
export const duplicateColumns =
  'd.count as duplicates, d.first_seen_at as first_duplicate_at, d.last_seen_at as last_duplicate_at';

function duplicatesOf(row: KeptEventRow): KeptDuplicates | undefined {
  const { duplicates: count, first_duplicate_at: firstSeenAt, last_duplicate_at: lastSeenAt } = row;
  if (count === null || firstSeenAt === null || lastSeenAt === null) return undefined;
  return { count, firstSeenAt, lastSeenAt };
}

/**
 * Turns a row into the run of the contract. Only a due run has `dueAt`, and only a settled one `settledAt`: the columns
 * keep other values for the store.
 */
function keptRunOf(row: KeptRunRow): KeptRun {
  const { state, attempts, due_at: dueAt, reason, settled_at: settledAt, replay } = row;
  return {
    handler: row.handler,
    state: state === 'claimed' ? 'running' : state,
    attempts,
    dueAt: state === 'due' ? (dueAt ?? undefined) : undefined,
    reason: reason ?? undefined,
    settledAt: state === 'done' || state === 'dead' ? (settledAt ?? undefined) : undefined,
    replay: replay ?? undefined,
  };
}

/** Gives each run its failures, in the order of the rows. */
export function withFailures(
  runs: readonly KeptRun[],
  rows: readonly FailureRow[],
): readonly KeptRunWithFailures[] {
  return runs.map((run) => ({
    ...run,
    failures: rows.filter(({ handler }) => handler === run.handler).map(failureOf),
  }));
}

function failureOf({ handler: _handler, location, ...row }: FailureRow): KeptFailure {
  return { ...row, location: location ?? undefined };
}

export function failureGroupOf(row: FailureGroupRow): FailureGroup {
  return {
    ...row,
    location: row.location ?? undefined,
    traceId: row.traceId ?? undefined,
    mutedAt: row.mutedAt ?? undefined,
  };
}

/** A part of the inbox; both ends are inclusive. */
export interface SearchRange {
  readonly from: Sequence;
  readonly to: Sequence;
  readonly limit: number;
  readonly latestFirst: boolean;
}

/** The result of a bounded search; another one continues after `reached`, once other work has run. */
export interface Found {
  readonly sequences: readonly Sequence[];
  /** The last sequence that was looked at, in the direction of the search. */
  readonly reached: Sequence;
}

/** Selects a page of a list, latest events first. */
interface PageRange {
  readonly limit: number;
  /** The cursor of the previous page. */
  readonly cursor?: string | undefined;
  /** Ends the search before its next look. */
  readonly signal?: AbortSignal | undefined;
}

/** Finds the events of a page, in several looks if need be, and the cursor for the next one if the page is full. */
export async function findPage(
  { limit, cursor, signal }: PageRange,
  lastSequence: () => Promise<Sequence>,
  find: (range: SearchRange) => Promise<Found>,
): Promise<{ readonly sequences: readonly Sequence[]; readonly cursor: string | undefined }> {
  const before = numberIn('events', cursor) ?? Infinity;
  const sequences: Sequence[] = [];
  // A cursor of another inbox may lie far behind the last event: the search would go through empty ranges for days.
  let to = Math.min(await lastSequence(), before - 1);
  while (sequences.length < limit && to > 0) {
    signal?.throwIfAborted();
    const found = await find({ from: 1, to, limit: limit - sequences.length, latestFirst: true });
    sequences.push(...found.sequences);
    to = found.reached - 1;
  }
  return { sequences, cursor: nextCursor('events', sequences, limit) };
}

/** The part of a range that one look goes through: its first `size` sequences in the direction of the search. */
export function windowOf({ from, to, limit, latestFirst }: SearchRange, size: number): SearchRange {
  return latestFirst
    ? { from: Math.max(from, to - size + 1), to, limit, latestFirst }
    : { from, to: Math.min(to, from + size - 1), limit, latestFirst };
}

export function foundIn(
  { from, to, limit, latestFirst }: SearchRange,
  sequences: readonly Sequence[],
): Found {
  const end = latestFirst ? from : to;
  return { sequences, reached: sequences.length === limit ? (sequences.at(-1) ?? end) : end };
}
