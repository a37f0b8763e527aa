/** Bounds the replays and dismissals that requests begin, and answers before a long one has ended. */
import { pause, systemClock } from '../../kit/clock.ts';
import type { Audit } from '../audit.ts';
import type { BulkResult } from '../bulk/bulk-work.ts';
import type { BegunBulkAction, InboxEvents } from '../events.ts';
import { ApiProblem } from './problem.ts';

/** How many replays and dismissals can be begun until one ends. A few more may begin in the same moment. */
const maxRunning = 10;

/** @throws ApiProblem if too many are in progress; a dry run is none of them */
export async function requireRoom(audit: Audit, { dryRun }: { readonly dryRun?: unknown }): Promise<void> {
  if (dryRun === true || (await audit.running()).length < maxRunning) return;
  throw new ApiProblem(
    503,
    'too_many_running',
    `At most ${maxRunning} replays and dismissals can be in progress: stop one, or wait until one ends.`,
  );
}

/** How long a request waits for the end of a replay or dismissal, in milliseconds. */
const answerWithin = 2_000;

/** Returns the result, or the progress of an action that takes longer and continues after the answer. */
export async function soon(
  events: InboxEvents,
  { id, ended }: BegunBulkAction,
): Promise<BulkResult | undefined> {
  // A dry run has no entry to ask for progress.
  if (id === undefined) return ended;
  ended.catch(() => {});
  return (await Promise.race([ended, pause(systemClock, answerWithin)])) ?? events.bulk.get(id);
}
