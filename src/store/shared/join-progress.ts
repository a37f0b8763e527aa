import type { JoinLookBack } from '../call-store.ts';
import type { Sequence } from '../event-record.ts';

/** What is remembered of a join and a call, as a row. */
export interface JoinRow {
  /** Names of the events that were there when an attempt last began, as JSON; null before the first. */
  readonly seen: string | null;
  /** Names of the events that were seen by a run which is done, as JSON. */
  readonly settled: string | null;
  readonly reruns: number;
  /** A `Progress` as JSON; null before the first look. */
  readonly progress: string | null;
}

/** Which of a join's events have not arrived among a call's events up to a sequence. */
export interface Progress {
  /** What the join waited for at that look: another version of the app may wait for something else. */
  readonly events: readonly string[];
  readonly missing: readonly string[];
  readonly until: Sequence;
}

/** How long a join that opens late waits at the least, unless its own time is shorter, in milliseconds. */
const minWait = 10_000;

/** The progress that was remembered, if it is about these events. */
export function progressOf(json: string | null, events: readonly string[]): Progress {
  const found = json === null ? undefined : (JSON.parse(json) as Progress);
  const isOfThese = found?.events.join('\n') === events.join('\n');
  return found && isOfThese ? found : { events, missing: events, until: 0 };
}

/**
 * When the time of a join is over, in milliseconds since 1970. Never later than `within` from now, because the clock may have
 * been set back since the first event came. And never at once: events released from quarantine came long ago, but are released
 * one after the other, so the rest comes soon after.
 */
export function joinDueAt(
  { within }: Pick<JoinLookBack, 'within'>,
  firstArrival: number | null | undefined,
  now: number,
): number {
  const first = Math.min(firstArrival ?? Infinity, now);
  return Math.max(first + within, now + Math.min(within, minWait));
}

/** The names in a column of a join. */
export function namesIn(json: string): string[] {
  return JSON.parse(json) as string[];
}
