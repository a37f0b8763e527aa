import type { JoinTerms } from '../../dispatch/handler.ts';
import type { JoinLookBack, KeptJoin } from '../call-store.ts';
import type { Sequence } from '../event-record.ts';
import type { ClaimOnEvent } from './claimed-work.ts';

/** A claimed event that a join waits for. */
export interface JoinArrival extends JoinTerms, ClaimOnEvent {
  readonly callId: string;
  readonly handler: string;
  readonly eventName: string;
  /** Whether no other run without a row is left, so that the claim on the event ends. */
  readonly isLast: boolean;
  readonly now: number;
}

/** What the store remembers of a join and a call, as a row. */
export interface JoinRow {
  /** Names of the events that were there when the last attempt began, as JSON; null before the first attempt. */
  readonly seen: string | null;
  /** Names of the events that a run which is done has seen, as JSON. */
  readonly settled: string | null;
  readonly reruns: number;
  /** A `Progress` as JSON; null before the first look. */
  readonly progress: string | null;
}

/** The same with the join's name, for what people ask. */
export interface KeptJoinRow extends Pick<JoinRow, 'seen' | 'progress'> {
  readonly handler: string;
}

/** Which of a join's events are missing among a call's events up to a sequence. */
interface Progress {
  /** What the join waited for at that look. Another version of the app may wait for other events. */
  readonly events: readonly string[];
  readonly missing: readonly string[];
  readonly until: Sequence;
}

/** The shortest wait of a join that opens late, unless its own `within` is shorter, in milliseconds. */
const minWait = 10_000;

/** The stored progress, or none if that was about other events. */
export function progressOf(json: string | null, events: readonly string[]): Progress {
  const found = json === null ? undefined : (JSON.parse(json) as Progress);
  const isOfThese = found?.events.join('\n') === events.join('\n');
  return found && isOfThese ? found : { events, missing: events, until: 0 };
}

/** The progress after a look that has found these events. */
export function progressAfter(
  { events, missing }: Progress,
  found: ReadonlySet<string>,
  until: Sequence,
): Progress {
  return { events, missing: missing.filter((name) => !found.has(name)), until };
}

/**
 * When a join's time is over, in milliseconds since 1970. At the latest `within` from now, because the clock may have
 * been set back since the first event came; and never at once, because events released from quarantine arrived long
 * ago, but are released one after the other.
 */
export function joinDueAt(
  { within }: Pick<JoinLookBack, 'within'>,
  firstArrival: number | null | undefined,
  now: number,
): number {
  const first = Math.min(firstArrival ?? Infinity, now);
  return Math.max(first + within, now + Math.min(within, minWait));
}

/** Turns a row into the join of the contract. */
export function keptJoinOf({ handler, seen, progress }: KeptJoinRow): KeptJoin {
  const { events, missing } =
    progress === null ? { events: [], missing: [] } : (JSON.parse(progress) as Progress);
  return { handler, events, missing, seen: seen === null ? undefined : namesIn(seen) };
}

/** Whether the join, which has begun, runs again for an event: it may do so once for those that no run has seen. */
export function isLate(
  { runsAgain }: Pick<JoinTerms, 'runsAgain'>,
  { seen, reruns }: JoinRow,
  eventName: string,
): boolean {
  return runsAgain && reruns === 0 && seen !== null && !namesIn(seen).includes(eventName);
}

/** Whether a run that is done has seen all of these events. */
export function hasSeenAll(settled: string | null | undefined, names: readonly string[]): boolean {
  return typeof settled === 'string' && names.every((name) => namesIn(settled).includes(name));
}

/** The names in a column of a join. */
function namesIn(json: string): string[] {
  return JSON.parse(json) as string[];
}
