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

export type Redact = (text: string) => string;

/** Shorter values (such as a header `1`) are no credentials, and hiding them would garble every sentence. */
const minCredentialLength = 6;
/** Deeper levels of an error body explain nothing, and could exhaust the stack. */
const maxDepth = 8;

/** Hides these texts and everything that looks like a signing secret: an error may quote what was sent. */
export function redacting(confidential: readonly string[]): Redact {
  const hidden = confidential
    .flatMap((text) => [text, withoutScheme(text)])
    .filter((text) => text.length >= minCredentialLength)
    // The longest first: hiding a text that another one begins with would reveal the rest of the longer one.
    .sort((left, right) => right.length - left.length);
  return (text) =>
    hidden
      .reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
      .replaceAll(/whsec_[^\s"',]+/g, '[hidden]');
}

/** The credential without its scheme, such as `Bearer`: an error may quote it alone. */
function withoutScheme(text: string): string {
  return text.slice(text.indexOf(' ') + 1).trim();
}

/** Redacts every text in a value, including the names of fields. */
export function redacted(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === maxDepth) return '[…]';
  if (Array.isArray(value)) return value.map((item) => redacted(item, redact, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [redact(name), redacted(inner, redact, depth + 1)]),
  );
}

/** Makes a text one line of a bounded length, so that it can't forge lines in a log. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/[\p{Control}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return line.length <= 300 ? line : `${line.slice(0, 300)}…`;
}
