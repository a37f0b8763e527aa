/** Bounds of what requests may have going on at the same time. */
import { RingbackError } from '../../errors/errors.ts';
import { pause, systemClock } from '../../kit/clock.ts';
import { Semaphore } from '../../kit/limiters.ts';
import { noRuns } from '../../store/shared/changed-runs.ts';
import type { Audit } from '../audit.ts';
import type { BulkResult } from '../bulk/bulk-work.ts';
import type { BegunBulkAction, InboxEvents } from '../events.ts';
import { ApiProblem } from './problem.ts';

/** How many go on at the same time: each may read much of the inbox, on the thread that takes deliveries. */
const atOnce = 4;
/** How many may wait for that. */
const maxWaiting = 100;

/** Bounds how many of an API's searches, or of its long reads, go on and wait at the same time. */
export class BoundedWork {
  readonly #places = new Semaphore(atOnce);
  #count = 0;

  /** @throws ApiProblem if too many wait; the reason of `signal` if the client has left while this one waited */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#count === atOnce + maxWaiting)
      throw new ApiProblem(
        503,
        'too_many_searches',
        `At most ${maxWaiting} searches can wait while ${atOnce} go on. Ask again later.`,
      );
    this.#count += 1;
    try {
      return await this.#places.run(async () => {
        signal.throwIfAborted();
        return work();
      });
    } finally {
      this.#count -= 1;
    }
  }
}

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

/** The errors of a database that fails while an action is in progress: the action continues when it is back. */
const interruptions: ReadonlySet<string> = new Set([
  'database_unreachable',
  'database_unreadable',
  'database_full',
]);

/**
 * Returns the result, or the progress of an action that takes longer and continues after the answer. A database that
 * fails meanwhile is no error: whoever got one would begin the same action again.
 */
export async function soon(
  events: InboxEvents,
  { id, ended }: BegunBulkAction,
): Promise<BulkResult | undefined> {
  // A dry run has no entry to ask for progress.
  if (id === undefined) return ended;
  ended.catch(() => {});
  try {
    return (await Promise.race([ended, pause(systemClock, answerWithin)])) ?? (await events.bulk.get(id));
  } catch (error) {
    if (!(error instanceof RingbackError && interruptions.has(error.code))) throw error;
    return { id, state: 'running', ...noRuns };
  }
}
