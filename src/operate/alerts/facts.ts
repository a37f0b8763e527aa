/** What alerts are found in, and what is found. */
import type { DeadRuns } from '../../store/alert-store.ts';
import type { Backlog, HistoryRow } from '../../store/history-store.ts';
import type { NamedGroup } from '../../store/failure-store.ts';
import type { AlertName } from '../../receiver/alert-options.ts';

/** What is looked at, at one moment. */
export interface Facts {
  readonly now: number;
  /** Of each handler, most first; together, counted up to `maxCounted`. */
  readonly deadRuns: readonly DeadRuns[];
  readonly backlog: Backlog;
  /** What has happened in the last hour, by minute. */
  readonly minutes: readonly HistoryRow[];
  /** What has happened in the last two weeks, by hour. */
  readonly hours: readonly HistoryRow[];
  /** The groups of failures of the last hour. */
  readonly groups: readonly NamedGroup[];
  /** How many differences from the platform's documents were first seen within the last day. */
  readonly newDrift: number;
  /** Whether genuine deliveries seem to be refused here; undefined if none has come that would show it. */
  readonly isSecretSuspected: boolean | undefined;
  /** How much room the disk of the inbox has, if that is known. */
  readonly freeDisk: number | undefined;
}

/** An alert that is to be raised, if it isn't yet. */
export interface Condition {
  readonly name: AlertName;
  readonly subject: string;
  readonly message: string;
}

/** Beyond this, dead letters are not counted: nobody is woken by the difference. */
export const maxCounted = 1_000;
