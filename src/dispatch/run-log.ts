import type { ClaimedEvent } from '../store/claims.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { FailedOutcome } from './handler.ts';
import type { Conclusion, Run } from './run.ts';

/** Writes the log line of an event that became a dead letter before it could be routed. */
export function reportUnread(
  telemetry: Telemetry,
  { traceId, callId, eventName }: ClaimedEvent,
  { attempts: attempt, cause, unreadable: reason }: Conclusion,
): void {
  if (reason === undefined) telemetry.report('run_dead', { traceId, callId, eventName, attempt, cause });
  else telemetry.report('event_unreadable', { traceId, reason });
}

/** Logs a commit that wrote nothing, if the outcome of its run doesn't show that: its effects would be silently lost. */
export function reportFailedCommit(
  telemetry: Telemetry,
  { claimed: { traceId, handler } }: Run,
  { cause, location }: FailedOutcome,
): void {
  telemetry.report('commit_failed', { traceId, handler, cause, location });
}

/** Logs that a handler failed after its commit: what it left undone is not retried, so a person has to know. */
export function reportAfterCommit(
  telemetry: Telemetry,
  { claimed: { traceId, handler } }: Run,
  { cause, location }: FailedOutcome,
): void {
  telemetry.report('run_failed_after_commit', { traceId, handler, cause, location });
}

/** Logs that the claim on a run has passed to another process. */
export function reportLost(
  telemetry: Telemetry,
  { claimed: { traceId, handler } }: Run,
  cause?: string,
): undefined {
  telemetry.report('run_lost', { traceId, handler, cause });
}
