import type { Logger } from 'pino';
import type { CallRecord } from '../calls/timeline.ts';
import { type RingbackError, ringbackError } from '../errors/errors.ts';
import type { Run, RunContext, UserDatabase } from './handling.ts';
import { isThenable } from '../kit/values.ts';
import { isDecision } from './outcomes.ts';

/** What a run's context needs from the dispatcher. */
export interface ContextParts {
  readonly run: Run;
  readonly attempt: number;
  readonly logger: Logger;
  /** The record of the run's call, computed from its events so far. */
  readonly callSoFar: () => Promise<CallRecord | undefined>;
  /** Writes the effects and marks the run done, together; `lost` when the run was no longer ours. */
  readonly settleWith: (effects: (database: UserDatabase) => void) => Promise<'settled' | 'lost'>;
  /** Called with the error of a commit that was refused: a second one, or one after the attempt has ended. */
  readonly onRefused: (error: RingbackError) => void;
}

/** A context, and what became of its commit. */
export interface Work {
  readonly context: Omit<RunContext, 'signal'>;
  /**
   * Ends the attempt and returns what became of its commit, waiting for one that has begun. A commit that failed makes
   * the attempt fail even if the handler didn't await it: otherwise its effects would be lost without notice.
   */
  readonly ended: () => 'nothing' | Promise<'committed' | { readonly failed: unknown }>;
}

class WorkContext implements Omit<RunContext, 'signal'> {
  readonly attempt: number;
  readonly receivedAt: Date;
  readonly replay: RunContext['replay'];
  readonly call: RunContext['call'];
  readonly commit: RunContext['commit'];
  readonly #run: Run;
  readonly #logger: Logger;
  #log: Logger | undefined;

  constructor(
    run: Run,
    attempt: number,
    logger: Logger,
    call: RunContext['call'],
    commit: RunContext['commit'],
  ) {
    this.attempt = attempt;
    this.receivedAt = new Date(run.receivedAt);
    this.replay = run.replay;
    this.call = call;
    this.commit = commit;
    this.#run = run;
    this.#logger = logger;
  }

  /** Made at its first use: a child logger costs more than most runs. */
  get log(): Logger {
    const { traceId, callId, handler } = this.#run;
    return (this.#log ??= this.#logger.child({ traceId, callId, handler: handler.name }));
  }
}

/** Makes the context of an attempt. */
export function workOn({ run, attempt, logger, callSoFar, settleWith, onRefused }: ContextParts): Work {
  let committing: Promise<unknown> | undefined;
  let isOver = false;

  /** The outcome of the attempt can't show a refused commit: it may be over, or done by the first commit. */
  const refused = (reason: RingbackError): Promise<never> => {
    onRefused(reason);
    return observed(Promise.reject(reason));
  };

  const commit = <Result>(effects: (database: UserDatabase) => Result): Promise<Result> => {
    if (committing) return refused(ringbackError('commit_repeated'));
    // While a sibling's run goes on, the claim on the event holds. The inbox alone would therefore accept a late commit
    // of this attempt next to that of the next attempt.
    if (isOver) return refused(ringbackError('commit_too_late'));
    const committed = observed(commitOnce(effects, settleWith));
    committing = committed;
    return committed;
  };

  const ended = () => {
    isOver = true;
    if (!committing) return 'nothing' as const;
    return committing.then(
      () => 'committed' as const,
      (failed: unknown) => ({ failed }),
    );
  };
  return { context: new WorkContext(run, attempt, logger, callSoFar, commit), ended };
}

/**
 * Still rejects for whoever awaits it. If the handler doesn't await its commit, Node would otherwise end the process
 * because of an unhandled rejection.
 */
function observed<Result>(committed: Promise<Result>): Promise<Result> {
  committed.catch(() => {});
  return committed;
}

async function commitOnce<Result>(
  effects: (database: UserDatabase) => Result,
  settleWith: ContextParts['settleWith'],
): Promise<Result> {
  if (typeof effects !== 'function') throw ringbackError('commit_not_a_function', { found: typeof effects });
  let result: Result | undefined;
  const settled = await settleWith((database) => {
    const returned = effects(database);
    // A forgotten `throw`: what was written so far is undone, as if it were there.
    if (isDecision(returned)) throw returned;
    if (isThenable(returned)) {
      // The function goes on without its database; nobody needs the error that it gets from that.
      void Promise.resolve(returned).catch(() => {});
      // Inside the transaction, which undoes what was written so far.
      throw ringbackError('commit_asynchronous');
    }
    result = returned;
  });
  if (settled === 'lost') throw ringbackError('commit_too_late');
  return result as Result;
}
