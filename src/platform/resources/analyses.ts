import { z } from 'zod';
import type { Duration } from '../../kit/duration.ts';
import { parseStrictly } from '../../errors/option-problems.ts';
import type { Connection } from '../requests/connection.ts';
import { pathPart } from '../requests/address.ts';
import { PlatformError } from '../requests/platform-error.ts';
import type { PlatformRequest } from '../requests/request.ts';
import { listOf } from '../requests/shapes.ts';
import { type WaitOptions, untilReady, waitOptionsSchema } from '../requests/call-options.ts';

/** One finding of a call's analysis. */
export interface AnalysisItem {
  /** Free text typed by a person; it may begin or end with spaces. */
  readonly name?: unknown;
  readonly type?: unknown;
  readonly description?: unknown;
  readonly analysis_prompt?: unknown;
  /** Seen in use only as text, for every type, even numbers and booleans. */
  readonly result?: unknown;
  readonly [field: string]: unknown;
}

/** A call's analysis, with all fields unchanged. None of it is in the platform's document; it was seen in use. */
export interface Analysis {
  readonly call_id?: string | null | undefined;
  readonly ai_agent_id?: string | null | undefined;
  readonly items: readonly AnalysisItem[];
  readonly [field: string]: unknown;
}

/** Options of `analyses.get`. */
export interface AnalysisOptions extends WaitOptions {
  /**
   * How long to wait for an analysis that isn't ready; 0 asks once. In a handler, set it well below the handler's
   * timeout, which is 30 s by default. @default '60s': twice the longest that is typical
   */
  readonly timeout?: Duration | undefined;
}

const optionsSchema = waitOptionsSchema(60_000);
const itemShape = z.looseObject({}) satisfies z.ZodType<AnalysisItem>;
const answerShape = z.looseObject({
  data: z
    .looseObject({
      call_id: z.string().nullish(),
      ai_agent_id: z.string().nullish(),
      items: listOf(itemShape).nullish(),
    })
    .nullish(),
});
/** Both were seen in use for an analysis that isn't ready; which one the platform intends is unknown. */
const notReadyStatuses = [404, 500];

/** Reads post-call analyses. Not in the platform's document. */
export class Analyses {
  readonly #connection: Connection;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Reads the analysis of a call. Waits while it isn't ready, which an answer of 404 or 500, or one without items,
   * shows. Not in the platform's document: seen in use. In a handler, pass `ctx.signal` and a timeout below the
   * handler's own: then the run fails with `not_ready` and is retried later.
   *
   * @throws PlatformError `not_ready` when it was not ready in time: perhaps it never will be, or an id is wrong
   * @example const { items } = await platform.analyses.get(agent_id, call_id, { timeout: '2m' });
   */
  async get(agentId: string, callId: string, options: AnalysisOptions = {}): Promise<Analysis> {
    const operation = 'analyses.get';
    const waiting = parseStrictly(optionsSchema, options, operation);
    const agentPart = pathPart(agentId, 'agentId', operation);
    const path = `/v2/ai-agents/${agentPart}/postcall-analysis/results/${pathPart(callId, 'callId', operation)}`;
    return untilReady(this.#connection.clock, waiting, (deadline) =>
      this.#ask({ operation, method: 'GET', path, signal: waiting.signal, deadline }),
    );
  }

  async #ask(request: PlatformRequest): Promise<Analysis | PlatformError> {
    const { operation } = request;
    try {
      const { data } = await this.#connection.send(
        { ...request, finalStatuses: notReadyStatuses },
        answerShape,
      );
      if (data?.items && data.items.length > 0) return { ...data, items: data.items };
      return notReady(operation, 'an analysis without items', undefined);
    } catch (error) {
      if (!(error instanceof PlatformError) || !notReadyStatuses.includes(error.status ?? 0)) throw error;
      return notReady(operation, String(error.status), error);
    }
  }
}

function notReady(operation: string, answered: string, error: PlatformError | undefined): PlatformError {
  return new PlatformError(
    `${operation} should find the analysis of the call, but was answered with ${answered} until the timeout. ` +
      'Set a longer timeout, or check the ids of the agent and the call.',
    {
      operation,
      code: 'not_ready',
      status: error?.status ?? 200,
      details: error?.details,
      requestId: error?.requestId,
      retryAfter: error?.retryAfter,
    },
  );
}
