import { AsyncLocalStorage } from 'node:async_hooks';
import { type RingbackError, ringbackError } from '../errors/errors.ts';
import type { Clock } from '../kit/clock.ts';
import { isThenable } from '../kit/values.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { Settled } from '../store/claims.ts';
import { EarlyEnd, reportIfBlocking, untilEnd } from './deadline.ts';
import type { FailedOutcome, UserDatabase } from './handler.ts';
import { isDecision, outcomeOf } from './outcomes.ts';
import type { Attempt, Run } from './run.ts';
import type { Settler } from './settler.ts';

export interface CommitParts {
  readonly settler: Pick<Settler, 'settleWith'>;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** Aborted when a stop interrupts active runs. */
  readonly stop: AbortSignal;
}

/** The result of an attempt's commit. */
type Committed = 'nothing' | 'committed' | { readonly failed: unknown };

/** The database of the commit whose function is running: others that run meanwhile must not use its transaction. */
const inScope = new AsyncLocalStorage<UserDatabase>();

/** The one commit that an attempt may make. */
export class Commit {
  readonly #parts: CommitParts;
  readonly #attempt: Attempt;
  readonly #end: EarlyEnd;
  #committing: Promise<unknown> | undefined;
  #database: UserDatabase | undefined;
  #isOver = false;

  constructor(parts: CommitParts, attempt: Attempt, end: EarlyEnd) {
    this.#parts = parts;
    this.#attempt = attempt;
    this.#end = end;
  }

  /** What its function writes with, if that asks, and has not ended. */
  get database(): UserDatabase | undefined {
    return inScope.getStore() === this.#database ? this.#database : undefined;
  }

  /** `ctx.commit`. */
  readonly commit = <Result>(effects: (database: UserDatabase) => Result): Promise<Result> => {
    if (this.#committing) return this.#refused(ringbackError('commit_repeated'));
    // The claim on the event lasts while a sibling's run goes on. So the inbox alone would accept a late commit of this
    // attempt beside that of the next one.
    if (this.#isOver) return this.#refused(ringbackError('commit_too_late'));
    const committing = observed(this.#commitOnce(effects));
    this.#committing = committing;
    return committing;
  };

  /**
   * Ends the attempt and returns the result of its commit, waiting for one that has begun. A failed commit makes the
   * attempt fail even if the handler didn't await it: otherwise its effects would be silently lost.
   */
  ended(): Committed | Promise<Committed> {
    this.#isOver = true;
    if (!this.#committing) return 'nothing';
    return this.#committing.then(
      () => 'committed' as const,
      (failed: unknown) => ({ failed }),
    );
  }

  /** Reports a refused commit. The attempt's outcome can't show it: it may be over, or done by the first commit. */
  #refused(reason: RingbackError): Promise<never> {
    reportFailedCommit(
      this.#parts.telemetry,
      this.#attempt.run,
      outcomeOf(reason, () => 0),
    );
    return observed(Promise.reject(reason));
  }

  async #commitOnce<Result>(effects: (database: UserDatabase) => Result): Promise<Result> {
    if (typeof effects !== 'function')
      throw ringbackError('commit_not_a_function', { found: typeof effects });
    // The store may call this back in the asynchronous context of another caller.
    const inOwnContext = AsyncLocalStorage.snapshot();
    let result: Result | undefined;
    const keep = (returned: Result): void => {
      // A decision whose `throw` was forgotten: roll back, as if it had been thrown.
      if (returned !== undefined && isDecision(returned)) throw returned;
      result = returned;
    };
    const settled = await this.#settleWith((database) => {
      const returned = inOwnContext(() => inScope.run(database, effects, database));
      if (!isThenable(returned)) return keep(returned);
      return this.#untilEnd(Promise.resolve(returned)).then(keep as (value: unknown) => void);
    });
    if (settled === 'lost') throw ringbackError('commit_too_late');
    return result as Result;
  }

  /** Writes the effects and marks the run done, together. */
  #settleWith(effects: (database: UserDatabase) => unknown): Promise<Settled> {
    const { run, span } = this.#attempt;
    const scoped = (database: UserDatabase) => this.#runScoped(database, effects);
    const settle = () => this.#parts.settler.settleWith(run, scoped);
    return span ? span.settle(settle) : settle();
  }

  /** Calls `effects`; `database` is there until they have ended. */
  #runScoped(database: UserDatabase, effects: (database: UserDatabase) => unknown): unknown {
    const end = (): void => {
      this.#database = undefined;
    };
    this.#database = database;
    const calledAt = this.#parts.clock.elapsed();
    let returned: unknown;
    try {
      returned = effects(database);
      return returned;
    } finally {
      reportIfBlocking(this.#parts, this.#attempt.run, calledAt);
      if (isThenable(returned)) returned.then(end, end);
      else end();
    }
  }

  /**
   * Waits for asynchronous effects until the attempt's deadline or the stop, also if the user's function did not await
   * the commit. Effects that never end would otherwise keep the run and its transaction open for ever.
   */
  #untilEnd(effects: Promise<unknown>): Promise<unknown> {
    const { stop, clock } = this.#parts;
    const { timeout } = this.#attempt.run.handler;
    const unawaited = new EarlyEnd();
    const ended = untilEnd(effects, unawaited, { timeout, stop, clock });
    return Promise.race([ended, this.#end.reached()]).catch((thrown: unknown) => {
      throw this.#end.isReached || unawaited.isReached ? ringbackError('commit_too_late') : thrown;
    });
  }
}

/** Logs a commit that wrote nothing, if the outcome of its run doesn't show that: its effects would be silently lost. */
export function reportFailedCommit(
  telemetry: Telemetry,
  { claimed: { traceId, handler } }: Run,
  { cause, location }: FailedOutcome,
): void {
  telemetry.report('commit_failed', { traceId, handler, cause, location });
}

/**
 * Keeps Node from ending the process for an unhandled rejection if the handler doesn't await its commit. The promise
 * still rejects for those who await it.
 */
function observed<Result>(committed: Promise<Result>): Promise<Result> {
  committed.catch(() => {});
  return committed;
}
