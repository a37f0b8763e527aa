import type { Logger } from 'pino';
import type { CallRecord } from '../calls/timeline.ts';
import { ringbackError } from '../errors.ts';
import type { Run, RunContext, UserDatabase } from '../handling.ts';
import { isThenable } from '../kit/thenable.ts';

/** What a run's context needs of the dispatcher. */
export interface ContextParts {
  readonly run: Run;
  readonly attempt: number;
  readonly logger: Logger;
  /** The run's call, told from its events so far. */
  readonly callSoFar: () => Promise<CallRecord | undefined>;
  /** Writes the effects and the "done" mark together; resolves to whether the run was still ours. */
  readonly settleWith: (effects: (database: UserDatabase) => void) => Promise<'settled' | 'lost'>;
}

/** A context, and whether its commit went through. */
export interface Work {
  readonly context: Omit<RunContext, 'signal'>;
  /**
   * Ends the attempt, and tells of its commit: resolves, when one that was begun has ended, to what became of it. One that failed
   * is the attempt's failure, even where nobody waited for it: else its effects would be lost without a word.
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

  /** Made when it is used: a child logger costs more than most runs. */
  get log(): Logger {
    const { traceId, callId, handler } = this.#run;
    return (this.#log ??= this.#logger.child({ traceId, callId, handler: handler.name }));
  }
}

/** Makes what the user's function is called with. */
export function workOn({ run, attempt, logger, callSoFar, settleWith }: ContextParts): Work {
  let committing: Promise<void> | undefined;
  let isOver = false;

  const commit = (effects: (database: UserDatabase) => void): Promise<void> => {
    if (committing) return Promise.reject(ringbackError('commit_repeated'));
    // While a sibling works on, the claim holds: the inbox alone would let a late commit in beside the next attempt.
    if (isOver) return Promise.reject(ringbackError('commit_too_late'));
    committing = commitOnce(effects, settleWith);
    // One that nobody waits for must not end the process as an unhandled rejection.
    committing.catch(() => {});
    return committing;
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

async function commitOnce(
  effects: (database: UserDatabase) => void,
  settleWith: ContextParts['settleWith'],
): Promise<void> {
  const settled = await settleWith((database) => {
    const returned: unknown = effects(database);
    // Thrown inside the transaction: what was written so far is undone.
    if (!isThenable(returned)) return;
    // Its database has been taken away; what it says of that is of no use to anybody.
    void Promise.resolve(returned).catch(() => {});
    throw ringbackError('commit_asynchronous');
  });
  if (settled === 'lost') throw ringbackError('commit_too_late');
}
