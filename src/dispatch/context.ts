import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from 'pino';
import { type RingbackError, ringbackError } from '../errors/errors.ts';
import { digestUuid } from '../kit/bytes.ts';
import { isThenable } from '../kit/values.ts';
import type { Settled } from '../store/claims.ts';
import type { RunContext, UserDatabase } from './handler.ts';
import { isDecision } from './outcomes.ts';
import type { Run } from './run.ts';

export interface ContextParts {
  readonly logger: Logger;
  /** Its signal is read only when the user's function reads `ctx.signal`. */
  readonly end: { readonly signal: AbortSignal };
  readonly call: RunContext['call'];
  readonly commit: Commit;
}

/**
 * The second argument of the user's function. Signal, logger and key are made on first use: they cost as much as
 * everything else about a run, and most functions use none. They are own properties nevertheless, so that a copy of the
 * context has them. All runs share the same getters: an object with getters of its own gets a hidden class of its own,
 * which keeps the run in memory until a full garbage collection.
 */
export class AttemptContext implements RunContext {
  readonly attempt: number;
  readonly receivedAt: Date;
  readonly replay: RunContext['replay'];
  readonly call: RunContext['call'];
  readonly commit: RunContext['commit'];
  declare readonly idempotencyKey: RunContext['idempotencyKey'];
  declare readonly log: RunContext['log'];
  declare readonly signal: AbortSignal;
  readonly #run: Run;
  readonly #logger: Logger;
  readonly #end: ContextParts['end'];
  #log: Logger | undefined;

  constructor(run: Run, { logger, end, call, commit }: ContextParts) {
    const { attempts, receivedAt, replay } = run.claimed;
    this.attempt = attempts + 1;
    this.receivedAt = new Date(receivedAt);
    this.replay = replay;
    this.call = call;
    this.commit = commit.commit;
    this.#run = run;
    this.#logger = logger;
    this.#end = end;
    Object.defineProperty(this, 'idempotencyKey', AttemptContext.#keyProperty);
    Object.defineProperty(this, 'log', AttemptContext.#logProperty);
    Object.defineProperty(this, 'signal', AttemptContext.#signalProperty);
  }

  static readonly #keyProperty: PropertyDescriptor & ThisType<AttemptContext> = {
    enumerable: true,
    get() {
      const { join } = this.#run.handler;
      const { traceId, callId, handler } = this.#run.claimed;
      // As JSON: otherwise two pairs of names could make one text. The run of a join may belong to any of its events,
      // so its key follows from the call.
      const subject = join && callId !== undefined ? ['call', callId] : [traceId];
      return digestUuid(JSON.stringify([...subject, handler]));
    },
  };

  static readonly #logProperty: PropertyDescriptor & ThisType<AttemptContext> = {
    enumerable: true,
    get() {
      const { traceId, callId, handler } = this.#run.claimed;
      return (this.#log ??= this.#logger.child({ traceId, callId, handler }));
    },
  };

  static readonly #signalProperty: PropertyDescriptor & ThisType<AttemptContext> = {
    enumerable: true,
    get() {
      return this.#end.signal;
    },
  };
}

/** The result of an attempt's commit. */
export type Committed = 'nothing' | 'committed' | { readonly failed: unknown };

export interface CommitSteps {
  /** Writes the effects and marks the run done, together. */
  readonly settleWith: (effects: (database: UserDatabase) => unknown) => Promise<Settled>;
  /** Called with the error of a refused commit: a second one, or one after the attempt has ended. */
  readonly onRefused: (error: RingbackError) => void;
  /** Waits for asynchronous effects, and rejects if they outlast the attempt. */
  readonly untilEnd: (effects: Promise<unknown>) => Promise<unknown>;
}

/** The one commit that an attempt may make. */
export class Commit {
  readonly #settleWith: CommitSteps['settleWith'];
  readonly #onRefused: CommitSteps['onRefused'];
  readonly #untilEnd: CommitSteps['untilEnd'];
  #committing: Promise<unknown> | undefined;
  #isOver = false;

  constructor({ settleWith, onRefused, untilEnd }: CommitSteps) {
    this.#settleWith = settleWith;
    this.#onRefused = onRefused;
    this.#untilEnd = untilEnd;
  }

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
    this.#onRefused(reason);
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
      if (isDecision(returned)) throw returned;
      result = returned;
    };
    const settled = await this.#settleWith((database) => {
      const returned = inOwnContext(effects, database);
      if (!isThenable(returned)) return keep(returned);
      return this.#untilEnd(Promise.resolve(returned)).then(keep as (value: unknown) => void);
    });
    if (settled === 'lost') throw ringbackError('commit_too_late');
    return result as Result;
  }
}

/**
 * Keeps Node from ending the process for an unhandled rejection if the handler doesn't await its commit. The promise
 * still rejects for those who await it.
 */
function observed<Result>(committed: Promise<Result>): Promise<Result> {
  committed.catch(() => {});
  return committed;
}
