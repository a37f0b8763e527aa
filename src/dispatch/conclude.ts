import type { Outcome, Run } from '../handling.ts';
import type { RunState } from '../store/store.ts';

/** The most characters stored of a reason: an error's message can be as long as the data it complains about. */
const longestReason = 500;

/** What becomes of a run after an attempt, as the store is told. */
export interface Conclusion {
  readonly state: RunState;
  /** Attempts that count, this one included if it does. */
  readonly attempts: number;
  /** Why the run isn't done, as one word that is safe to log. */
  readonly cause: string | undefined;
  /** Where in the user's own files the error was thrown. */
  readonly place?: string | undefined;
}

/** Turns the outcome of an attempt into what is stored: a retry without attempts left is a dead letter. */
export function conclude(run: Run, outcome: Outcome, now: number): Conclusion {
  const attempts = run.attempts + 1;
  if (outcome.kind === 'done') return { state: { kind: 'done' }, attempts, cause: undefined };
  const { cause, place } = outcome;
  const reason = outcome.reason.slice(0, longestReason);
  if (outcome.kind === 'dead') return { state: { kind: 'dead', reason }, attempts, cause, place };
  if (!outcome.counts) return { state: { kind: 'due', at: 0, reason }, attempts: run.attempts, cause };
  if (attempts >= run.handler.retry.attempts)
    return { state: { kind: 'dead', reason }, attempts, cause, place };
  return { state: { kind: 'due', at: now + outcome.delay, reason }, attempts, cause, place };
}
