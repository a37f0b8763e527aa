/** What alerts are found in, and what is found. */
import type { DeadRuns, KeptAlert } from '../../store/alert-store.ts';
import type { Backlog, HistoryRow } from '../../store/history-store.ts';
import type { NamedGroup } from '../../store/failure-store.ts';
import type { AlertName } from '../../receiver/alert-options.ts';

/** What one check reads. */
export interface Facts {
  readonly now: number;
  /** The alerts that are raised. */
  readonly raised: readonly Pick<KeptAlert, 'name' | 'subject'>[];
  /** False soon after the wall clock was set: then it isn't known how long ago the last delivery came. */
  readonly isClockTrusted: boolean;
  /** Of each handler, most first; together, counted up to `maxCounted`. */
  readonly deadRuns: readonly DeadRuns[];
  readonly backlog: Backlog;
  /** The history of the last hour, by minute. */
  readonly minutes: readonly HistoryRow[];
  /** The deliveries of the last two weeks, by hour. */
  readonly hours: readonly HistoryRow[];
  /** For a threshold in milliseconds, those of the last hour that had any, by minute, if these are still kept. */
  readonly lastDeliveries: readonly HistoryRow[];
  /** The groups of failures of the last hour. */
  readonly groups: readonly NamedGroup[];
  /** How many differences from the platform's documents were first seen within the last day. */
  readonly newDrift: number;
  /** Whether genuine deliveries seem to be refused here; undefined if this process can't tell. */
  readonly isSecretSuspected: boolean | undefined;
  /** The free bytes on the disk of the inbox, if known. */
  readonly freeDisk: number | undefined;
}

/** A condition that holds, for which an alert is raised. */
export interface Condition {
  readonly name: AlertName;
  readonly subject: string;
  readonly message: string;
}

/** Dead letters aren't counted beyond this, unless the threshold is higher: a larger number changes nothing. */
export function maxCounted(threshold: number | false): number {
  return Math.max(1_000, threshold === false ? 0 : threshold);
}

/**
 * The part of a threshold that an alert must reach: once it is raised, only half. Otherwise what varies around a
 * threshold, as a handler that fails every other time, would be reported as over and raised again all night.
 */
export function eased({ raised }: Facts, name: AlertName, subject = ''): number {
  return raised.some((alert) => alert.name === name && alert.subject === subject) ? 0.5 : 1;
}

/** Whether the subject of an alert is the id of a group of failures, which says nothing to a person. */
export function isAboutGroup(name: AlertName): boolean {
  return name === 'failures_alike';
}
