interface PlatformProblem {
  readonly operation: string;
  readonly code: string;
  readonly status?: number | undefined;
  readonly details?: unknown;
  readonly requestId?: string | undefined;
  /** In milliseconds. */
  readonly retryAfter?: number | undefined;
  readonly neverSent?: boolean;
  readonly cause?: unknown;
}

/**
 * An unexpected answer of the platform, or a request that failed, in one form for all three error bodies of the
 * platform document (Errors) and for all other failures. Neither the message nor `details` contains the API key, a
 * signing secret or a header of a subscription.
 *
 * @example
 * try {
 *   await platform.knowledgeBases.get(id);
 * } catch (error) {
 *   if (error instanceof PlatformError && error.status === 404) return undefined;
 *   throw error;
 * }
 */
export class PlatformError extends Error {
  override readonly name = 'PlatformError';
  /** The called operation, such as `subscriptions.get`. */
  readonly operation: string;
  /** The status of the answer; undefined without one (`unreachable`, `timeout`) or if no single answer was wrong. */
  readonly status: number | undefined;
  /**
   * The platform's own code (`error` or `type` of its body), `HTTPValidationError`, `http_<status>` for a body in
   * another form, or one of the client's: `unreachable`, `timeout`, `redirected`, `too_large`, `not_json`,
   * `unexpected_answer`, `page_token_repeated`, `not_ready`, `ingestion_failed`, `not_resubmitted`.
   */
  readonly code: string;
  /** The platform's details, unchanged: the list of an HTTPValidationError, the object of a subscription error. */
  readonly details: unknown;
  /** The platform's id of the request, for its support; undefined when the answer has none. */
  readonly requestId: string | undefined;
  /** The wait that `Retry-After` asked for, in milliseconds. */
  readonly retryAfter: number | undefined;
  /** Whether the request was never sent, for lack of a connection. @internal */
  readonly neverSent: boolean;

  /** @internal */
  constructor(message: string, problem: PlatformProblem) {
    super(message, problem.cause === undefined ? undefined : { cause: problem.cause });
    this.operation = problem.operation;
    this.status = problem.status;
    this.code = problem.code;
    this.details = problem.details;
    this.requestId = problem.requestId;
    this.retryAfter = problem.retryAfter;
    this.neverSent = problem.neverSent ?? false;
  }
}
