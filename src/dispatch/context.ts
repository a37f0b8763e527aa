import type { Logger } from 'pino';
import type { CallRecord } from '../calls/timeline.ts';
import type { Run, RunContext, UserDatabase } from '../handling.ts';

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
  /** Resolves when a commit that was begun has ended: to whether the run is done by it. */
  readonly committed: () => Promise<boolean>;
}

/** Makes what the user's function is called with. */
export function workOn({ run, attempt, logger, callSoFar, settleWith }: ContextParts): Work {
  let commit: Promise<void> | undefined;

  const context = {
    attempt,
    receivedAt: new Date(run.receivedAt),
    call: callSoFar,
    log: logger.child({ traceId: run.event.traceId, callId: run.event.callId, handler: run.handler.name }),
    commit(effects: (database: UserDatabase) => void): Promise<void> {
      if (commit)
        return Promise.reject(new Error('ctx.commit can be called once a run: put all effects into one.'));
      commit = commitOnce(effects, settleWith);
      return commit;
    },
  };

  const committed = async () => {
    if (!commit) return false;
    return commit.then(
      () => true,
      () => false,
    );
  };
  return { context, committed };
}

async function commitOnce(
  effects: (database: UserDatabase) => void,
  settleWith: ContextParts['settleWith'],
): Promise<void> {
  const settled = await settleWith((database) => {
    const returned: unknown = effects(database);
    // Thrown inside the transaction: what was written so far is undone.
    if (isThenable(returned)) throw new Error(asynchronousEffects);
  });
  if (settled === 'lost') {
    throw new Error(
      'Nothing was committed: this run is no longer held by this process, and another attempt does it.',
    );
  }
}

const asynchronousEffects =
  'ctx.commit expects a synchronous function, but this one returned a promise, so nothing was committed. ' +
  'Await what you need first, then write everything inside ctx.commit without await.';

function isThenable(value: unknown): boolean {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === 'function';
}
