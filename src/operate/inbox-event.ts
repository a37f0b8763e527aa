/** The events of the inbox as operators see them. */
import type { Headers } from '../events/model.ts';
import { dateOf } from '../kit/time.ts';
import type { KeptDuplicates, KeptEvent, KeptRun } from '../store/event-store.ts';
import type { KeptFailure } from '../store/failure-store.ts';

/** A run that the inbox stores. A run without anything to remember has no row. */
export interface StoredRun extends Omit<KeptRun, 'dueAt' | 'settledAt'> {
  /** When a waiting run is due; a time in 1970 means at once. */
  readonly dueAt: Date | undefined;
  /** When the run was done or given up. */
  readonly settledAt: Date | undefined;
}

/** A stored run with its failed attempts. */
export interface StoredRunWithFailures extends StoredRun {
  /** The latest failed attempts, newest first, at most 20. Reasons may hold personal data. */
  readonly failures: readonly FailedAttempt[];
}

/** An attempt that failed. */
export interface FailedAttempt extends Omit<KeptFailure, 'at'> {
  readonly at: Date;
}

/** The deliveries of an event that came after the first one, and were answered with `duplicate`. */
export interface EventDuplicates {
  readonly count: number;
  /** When the first of them arrived. */
  readonly firstSeenAt: Date;
  readonly lastSeenAt: Date;
}

/** A stored event, without its body. */
export interface InboxEvent extends Omit<
  KeptEvent,
  'sequence' | 'occurredAt' | 'receivedAt' | 'duplicates' | 'runs'
> {
  readonly occurredAt: Date;
  readonly receivedAt: Date;
  /** Its duplicates, as far as they have been counted; undefined if there are none. */
  readonly duplicates: EventDuplicates | undefined;
  /** Its stored runs, in order of their handlers' names. */
  readonly runs: readonly StoredRun[];
}

/** An event as the inbox keeps it, with its headers and body: all of it is personal data. */
export interface WholeInboxEvent extends InboxEvent {
  readonly runs: readonly StoredRunWithFailures[];
  /** The stored headers; never credentials. */
  readonly headers: Headers;
  /** The JSON that was sent. */
  readonly body: Readonly<Record<string, unknown>>;
  /** The bytes as they arrived: those that were signed. */
  readonly raw: Uint8Array;
}

export function inboxEvent(kept: KeptEvent): InboxEvent {
  const { traceId, source, eventName, callId, organizationId, agentId, state } = kept;
  const { occurredAt, receivedAt, duplicates, runs } = kept;
  return {
    traceId,
    source,
    eventName,
    callId,
    organizationId,
    agentId,
    state,
    occurredAt: new Date(occurredAt),
    receivedAt: new Date(receivedAt),
    duplicates: duplicates && duplicatesOf(duplicates),
    runs: runs.map(storedRun),
  };
}

function duplicatesOf({ count, firstSeenAt, lastSeenAt }: KeptDuplicates): EventDuplicates {
  return { count, firstSeenAt: new Date(firstSeenAt), lastSeenAt: new Date(lastSeenAt) };
}

export function storedRun({
  handler,
  state,
  attempts,
  dueAt,
  reason,
  settledAt,
  replay,
}: KeptRun): StoredRun {
  return { handler, state, attempts, reason, replay, dueAt: dateOf(dueAt), settledAt: dateOf(settledAt) };
}

export function failedAttempt(failure: KeptFailure): FailedAttempt {
  return { ...failure, at: new Date(failure.at) };
}
