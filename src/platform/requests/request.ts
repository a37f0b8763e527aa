import { readBounded } from '../../kit/read-bounded.ts';
import { fetchCauseOf } from '../../kit/error-text.ts';
import { addressOf } from './base-url.ts';
import type { ResolvedPlatformOptions } from '../options.ts';
import { wasNeverSent } from './never-sent.ts';
import { PlatformError } from './platform-error.ts';
import { type Redact, oneLine } from './redact.ts';
import { leavesOpen } from './statuses.ts';

/** One request to the platform, as an operation describes it. */
export interface PlatformRequest {
  /** What was called, such as `subscriptions.get`: errors and the log name it. */
  readonly operation: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Begins with a slash; its parts are encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether the answer may contain a secret, which the platform shows only once. Its signal doesn't end such a request
   * once it has been sent: the platform might have issued a secret that nobody has.
   */
  readonly issuesSecret?: boolean;
  /** Statuses after which the request is not tried again, because the operation handles them itself. */
  readonly finalStatuses?: readonly number[];
  /** What to do if nobody knows whether the platform has carried out this write. @default to look before repeating it */
  readonly ifInDoubt?: string;
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

/** The largest answer, in bytes. The links of a large website fit, and an endless answer can't fill the memory. */
const largestAnswer = 16 * 1024 ** 2;

/** What an error needs to know of the request. */
export type AskedFor = Pick<PlatformRequest, 'operation' | 'method' | 'ifInDoubt'> & {
  /** The answer leaves no doubt that it was carried out: it has a new secret, say. */
  readonly isCarriedOut?: boolean;
};

/** What an error adds about a write that may have been carried out although no answer says so. Empty for a read. */
export function doubtAbout({
  method,
  ifInDoubt = 'Look at the present state before you repeat it.',
  isCarriedOut = false,
}: AskedFor): string {
  if (isCarriedOut) return ' It was carried out all the same.';
  return method === 'GET' ? '' : ` The platform may have carried it out nevertheless. ${ifInDoubt}`;
}

/**
 * Sends a request once and reads the whole answer, whatever its status.
 *
 * @throws PlatformError `unreachable`, `timeout`, `redirected` or `too_large`; or the signal's reason
 */
export async function sendOnce(
  request: PlatformRequest,
  options: ResolvedPlatformOptions,
  redact: Redact,
): Promise<Answer> {
  const signal = request.issuesSecret ? undefined : request.signal;
  const late = new AbortController();
  const cancel = options.clock.after(options.timeout, () => late.abort());
  try {
    const response = await send(
      request,
      options,
      signal ? AbortSignal.any([late.signal, signal]) : late.signal,
    );
    refuseRedirect(request, response);
    return { status: response.status, headers: response.headers, text: await textOf(request, response) };
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    if (late.signal.aborted) throw tooLate(request, options.timeout);
    signal?.throwIfAborted();
    throw unreachable(request, redact(fetchCauseOf(error)), wasNeverSent(error));
  } finally {
    cancel();
    // Ends an answer that was not read to its end: it would occupy its connection, and more of it would keep arriving.
    late.abort();
  }
}

function send(
  { method, path, query, body }: PlatformRequest,
  { fetch: sendRequest, baseUrl, apiKey }: ResolvedPlatformOptions,
  signal: AbortSignal,
): Promise<Response> {
  return sendRequest(addressOf(baseUrl, path, query), {
    method,
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${apiKey}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    redirect: 'manual',
    signal,
  });
}

/** Refuses redirects: followed, they would send the key, and the body of a PUT, to any address in the answer. */
function refuseRedirect(request: PlatformRequest, { status, type, redirected }: Response): void {
  if (!redirected && type !== 'opaqueredirect' && (status < 300 || status >= 400)) return;
  const { operation } = request;
  throw new PlatformError(
    `${operation} should be answered by the platform itself, but was redirected (${status}), which is not followed, ` +
      'so that the API key goes nowhere else. Set baseUrl to the address where the API is.' +
      (leavesOpen(status) ? doubtAbout(request) : ''),
    { operation, code: 'redirected', status },
  );
}

/** Decoding also removes a byte order mark, which JSON.parse would refuse. */
async function textOf(request: PlatformRequest, response: Response): Promise<string | undefined> {
  const bytes = await readBounded(response.body, largestAnswer);
  if (!bytes) throw tooLarge(request, response.status);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function tooLarge(request: PlatformRequest, status: number): PlatformError {
  const { operation } = request;
  const isRefused = status >= 400 && !leavesOpen(status);
  return new PlatformError(
    `${operation} should be answered with at most ${largestAnswer} bytes, but the answer is larger. ` +
      `Check that baseUrl is the address of the API.${isRefused ? '' : doubtAbout(request)}`,
    { operation, code: 'too_large', status },
  );
}

function tooLate(request: PlatformRequest, timeout: number): PlatformError {
  const { operation } = request;
  return new PlatformError(
    `${operation} should be answered within ${timeout} ms, but was not. Check the connection, or set a longer timeout.` +
      doubtAbout(request),
    { operation, code: 'timeout' },
  );
}

function unreachable(request: PlatformRequest, cause: string, neverSent: boolean): PlatformError {
  const { operation } = request;
  return new PlatformError(
    `${operation} should reach the platform, but: ${oneLine(cause)}. Check baseUrl and the connection.` +
      (neverSent ? '' : doubtAbout(request)),
    { operation, code: 'unreachable', neverSent },
  );
}
