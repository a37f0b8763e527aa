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
  /** Its signal is asked for when the user's function asks for it. */
  readonly end: { readonly signal: AbortSignal };
  readonly call: RunContext['call'];
  readonly commit: Commit;
}

/**
 * What the user's function is called with besides the event. Its signal, its logger and its key are made when they are
 * used: they cost as much as everything else about a run, and most functions use none. They are own properties all the same,
 * so that a copy of the context has them. Their getters are the same functions for every run: an object with getters of its
 * own has a hidden class of its own, which holds the run until a full garbage collection.
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
      // As JSON: otherwise two pairs of names could make one text. A join's run is that of any of its events, while its work
      // is that on the call.
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

/** What became of the commit of an attempt. */
export type Committed = 'nothing' | 'committed' | { readonly failed: unknown };

export interface CommitSteps {
  /** Writes the effects and marks the run done, together. */
  readonly settleWith: (effects: (database: UserDatabase) => unknown) => Promise<Settled>;
  /** Called with the error of a commit that was refused: a second one, or one after the attempt has ended. */
  readonly onRefused: (error: RingbackError) => void;
  /** Waits for asynchronous effects as long as the attempt may last, and rejects then. */
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
    // While a sibling's run goes on, the claim on the event holds. The inbox alone would therefore accept a late commit
    // of this attempt next to that of the next attempt.
    if (this.#isOver) return this.#refused(ringbackError('commit_too_late'));
    const committing = observed(this.#commitOnce(effects));
    this.#committing = committing;
    return committing;
  };

  /**
   * Ends the attempt and returns what became of its commit, waiting for one that has begun. A commit that failed makes
   * the attempt fail even if the handler didn't await it: otherwise its effects would be lost without notice.
   */
  ended(): Committed | Promise<Committed> {
    this.#isOver = true;
    if (!this.#committing) return 'nothing';
    return this.#committing.then(
      () => 'committed' as const,
      (failed: unknown) => ({ failed }),
    );
  }

  /** The outcome of the attempt can't show a refused commit: it may be over, or done by the first commit. */
  #refused(reason: RingbackError): Promise<never> {
    this.#onRefused(reason);
    return observed(Promise.reject(reason));
  }

  async #commitOnce<Result>(effects: (database: UserDatabase) => Result): Promise<Result> {
    if (typeof effects !== 'function')
      throw ringbackError('commit_not_a_function', { found: typeof effects });
    // The database may be lent while another function is served, in that one's asynchronous context.
    const inOwnContext = AsyncLocalStorage.snapshot();
    let result: Result | undefined;
    const keep = (returned: Result): void => {
      // A forgotten `throw`: what was written so far is undone, as if it were there.
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
 * Still rejects for whoever awaits it. If the handler doesn't await its commit, Node would otherwise end the process
 * because of an unhandled rejection.
 */
function observed<Result>(committed: Promise<Result>): Promise<Result> {
  committed.catch(() => {});
  return committed;
}
