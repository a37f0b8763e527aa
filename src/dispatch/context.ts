import type { Logger } from 'pino';
import { digestUuid } from '../kit/bytes.ts';
import type { RunContext } from './handler.ts';
import type { Run } from './run.ts';

export interface ContextParts {
  readonly logger: Logger;
  /** Its signal is read only when the user's function reads `ctx.signal`. */
  readonly end: { readonly signal: AbortSignal };
  readonly call: RunContext['call'];
  readonly commit: RunContext['commit'];
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
    this.commit = commit;
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
