/** What a request to the platform and its answer are, and whether the request was carried out. */

/** A form with a file in it, as it is sent. */
export interface EncodedForm {
  /** With the boundary between the parts. */
  readonly contentType: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** One request to the platform, as an operation describes it. */
export interface PlatformRequest {
  /** What was called, such as `subscriptions.get`: errors and the log name it. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Whether it changes nothing although its method could, as a search does. @default whether it is a GET */
  readonly isRead?: boolean;
  /** Begins with a slash; its parts are encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent instead. Nothing of its file may be in an error. */
  readonly form?: EncodedForm;
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether its signal doesn't end the request once it has been sent, because its answer must be known: the platform might
   * have issued a secret, which it shows only once.
   */
  readonly mustBeAnswered?: boolean;
  /** When to give up: no further attempt begins from then on. On the clock that never jumps, in milliseconds. */
  readonly deadline?: number;
  /** Statuses after which the request is not tried again, because the operation handles them itself. */
  readonly finalStatuses?: readonly number[];
  /** What to do if nobody knows whether the platform has carried out this write. @default to look before repeating it */
  readonly ifInDoubt?: string | undefined;
  /** Texts in the request that must not be in an error. */
  readonly confidential?: readonly string[];
}

/** What the platform answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined when it is not UTF-8. */
  readonly text: string | undefined;
}

/** The body of an answer, and the answer's status. */
export interface AnsweredBody<Body = unknown> {
  readonly status: number;
  readonly body: Body;
}

/** What an error needs to know of the request. */
export type AskedFor = Pick<PlatformRequest, 'operation' | 'method' | 'isRead' | 'ifInDoubt'> & {
  /** The answer leaves no doubt that it was carried out: it has a new secret, say. */
  readonly isCarriedOut?: boolean;
};

/** Whether a request changes nothing, so that it may be repeated whatever became of it. */
export function isRead({ method, isRead: isKnown }: Pick<PlatformRequest, 'method' | 'isRead'>): boolean {
  return isKnown ?? method === 'GET';
}

/** What an error adds about a write that may have been carried out although no answer says so. Empty for a read. */
export function doubtAbout(request: AskedFor): string {
  const { ifInDoubt = 'Look at the present state before you repeat it.', isCarriedOut = false } = request;
  if (isCarriedOut) return ' It was carried out all the same.';
  return isRead(request) ? '' : ` The platform may have carried it out nevertheless. ${ifInDoubt}`;
}

/** Statuses after which a read is tried again, because the failure may pass. */
export const passing: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);

/**
 * Whether an answer says that nothing was done. 503 does so only if it asks to come back later: without that, it may be of
 * a database that failed when the work was done, or of a proxy that lost the connection after it had passed the request on.
 */
export function isUndone(status: number, retryAfter: number | undefined): boolean {
  return status === 429 || (status === 503 && retryAfter !== undefined);
}

/** Statuses of the server's that say so as well: it doesn't know the method, or the version of HTTP. */
const unknown: ReadonlySet<number> = new Set([501, 505]);
/** Redirects that are the usual answer to a write that was carried out: look there for what came of it. */
const elsewhere: ReadonlySet<number> = new Set([302, 303]);

/** Whether an error with this status leaves open whether a write was carried out. */
export function leavesOpen(status: number, retryAfter?: number): boolean {
  if (status < 500) return status === 408 || elsewhere.has(status);
  return !isUndone(status, retryAfter) && !unknown.has(status);
}
