import type { ClaimedEvent } from '../store/claims.ts';
import type { Clock } from '../kit/clock.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { Outcome } from './handler.ts';
import type { Conclusion, Run } from './run.ts';

/** Writes the one log line of a settled attempt. Reasons may contain personal data, so they stay in the inbox. */
export function report(
  telemetry: Telemetry,
  { claimed }: Run,
  { state, attempts, cause, location, unreadable: reason }: Conclusion,
  duration: number,
): void {
  const { traceId, callId, eventName, handler, replay } = claimed;
  if (reason !== undefined) return telemetry.report('event_unreadable', { traceId, handler, reason });
  const fields = () => ({
    traceId,
    callId,
    eventName,
    handler,
    attempt: attempts,
    replay: replay?.id,
    duration: Math.round(duration),
    cause,
    location,
  });
  if (state.kind === 'done') telemetry.report('run_done', fields);
  if (state.kind === 'dead') telemetry.report('run_dead', fields);
  if (state.kind === 'due') telemetry.report('run_retry', { ...fields(), retryAt: retryAt(state.at) });
}

/** Writes the log line of an event that became a dead letter before it could be routed. */
export function reportUnread(
  telemetry: Telemetry,
  { traceId, callId, eventName }: ClaimedEvent,
  { attempts: attempt, cause, unreadable: reason }: Conclusion,
): void {
  if (reason === undefined) telemetry.report('run_dead', { traceId, callId, eventName, attempt, cause });
  else telemetry.report('event_unreadable', { traceId, reason });
}

/** Absent for a run that is due at once. */
function retryAt(at: number): string | undefined {
  return at === 0 ? undefined : new Date(at).toISOString();
}

/**
 * How long a handler may block the event loop before that is reported, in milliseconds: a quarter of the second that
 * the platform waits. Deliveries that come meanwhile must be verified, stored and answered in the rest of it.
 */
const maxWithoutPause = 250;

/** Logs if the user's code, called at `calledAt`, blocked the event loop: otherwise only lost deliveries show that. */
export function reportIfBlocking(
  { clock, telemetry }: { readonly clock: Clock; readonly telemetry: Telemetry },
  { claimed: { traceId, handler } }: Run,
  calledAt: number,
): void {
  const duration = clock.elapsed() - calledAt;
  if (duration < maxWithoutPause) return;
  telemetry.report('handler_blocking', { traceId, handler, duration: Math.round(duration) });
}

/** Logs a commit that wrote nothing, if the outcome of its run doesn't show that: its effects would be silently lost. */
export function reportFailedCommit(telemetry: Telemetry, { claimed }: Run, failure: Outcome): void {
  if (failure.kind === 'done') return;
  const { traceId, handler } = claimed;
  const { cause, location } = failure;
  telemetry.report('commit_failed', { traceId, handler, cause, location });
}

/** Logs that a handler failed after its commit: what it left undone is not retried, so a person has to know. */
export function reportAfterCommit(
  telemetry: Telemetry,
  { claimed: { traceId, handler } }: Run,
  { cause, location }: Exclude<Outcome, { kind: 'done' }>,
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
