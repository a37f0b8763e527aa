export interface EncodedForm {
  /** Includes the boundary between the parts. */
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface PlatformRequest {
  /** The called operation, such as `subscriptions.get`, for errors and the log. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Whether it changes nothing, whatever its method, like a search. @default whether it is a GET */
  readonly isRead?: boolean;
  /** Begins with a slash; its parts are encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent instead of `body`. No error may contain its file. */
  readonly form?: EncodedForm;
  readonly signal?: AbortSignal | undefined;
  /** Whether it can't be aborted once it was sent, because its answer may hold a secret, which is shown only once. */
  readonly mustBeAnswered?: boolean;
  /** No further attempt begins after this time on the monotonic clock, in milliseconds. */
  readonly deadline?: number;
  /** Statuses that the operation handles itself, so that they aren't retried. */
  readonly finalStatuses?: readonly number[];
  /** The advice if the outcome of this write is unknown. @default to look before repeating it */
  readonly ifInDoubt?: string | undefined;
  /** Texts of the request that no error may contain. */
  readonly confidential?: readonly string[];
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined when it is not UTF-8. */
  readonly text: string | undefined;
}

export interface AnsweredBody<Body = unknown> {
  readonly status: number;
  readonly body: Body;
}

export type AskedFor = Pick<PlatformRequest, 'operation' | 'method' | 'isRead' | 'ifInDoubt'> & {
  /** Whether the answer proves that it was carried out, for example by a new secret. */
  readonly isCarriedOut?: boolean;
};

/** Whether a request changes nothing, so that it may be repeated whatever its outcome. */
export function isRead({ method, isRead: isKnown }: Pick<PlatformRequest, 'method' | 'isRead'>): boolean {
  return isKnown ?? method === 'GET';
}

/** What an error adds about a write whose outcome is unknown. Empty for a read. */
export function doubtAbout(request: AskedFor): string {
  const { ifInDoubt = 'Check the current state before you repeat it.', isCarriedOut = false } = request;
  if (isCarriedOut) return ' The operation was carried out nevertheless.';
  return isRead(request) ? '' : ` The platform may have carried out the operation nevertheless. ${ifInDoubt}`;
}

/** Statuses of temporary failures, after which a read is retried. */
export const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Whether an answer shows that nothing was done. A 503 shows it only with a `Retry-After`: others may come from a
 * database that failed after the work, or from a proxy that lost the connection after passing the request on.
 */
export function isUndone(status: number, retryAfter: number | undefined): boolean {
  return status === 429 || (status === 503 && retryAfter !== undefined);
}

/** Other server statuses that show it: the server doesn't know the method, or the version of HTTP. */
const unknown: ReadonlySet<number> = new Set([501, 505]);
/** Redirects that often answer a successful write and lead to its result. */
const elsewhere: ReadonlySet<number> = new Set([302, 303]);

/** Whether the outcome of a write is unknown after an error with this status. */
export function leavesOpen(status: number, retryAfter?: number): boolean {
  if (status < 500) return status === 408 || elsewhere.has(status);
  return !isUndone(status, retryAfter) && !unknown.has(status);
}
