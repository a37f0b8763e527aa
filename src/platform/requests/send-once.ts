import { withDeadline } from '../../kit/aborting.ts';
import { causeIn, codeOf, fetchCauseOf } from '../../kit/error-text.ts';
import { readBounded } from '../../kit/http-bodies.ts';
import type { ResolvedPlatformOptions } from '../options.ts';
import { addressOf } from './address.ts';
import { type Redact, PlatformError, oneLine } from './platform-error.ts';
import { type Answer, type PlatformRequest, doubtAbout, leavesOpen } from './request.ts';

/** The largest answer, in bytes: the links of a large website fit, and an endless answer can't fill the memory. */
const maxAnswer = 16 * 1024 ** 2;

/** @throws PlatformError `unreachable`, `timeout`, `redirected` or `too_large`; or the signal's reason */
export function sendOnce(
  request: PlatformRequest,
  options: ResolvedPlatformOptions,
  redact: Redact,
): Promise<Answer> {
  const signal = request.mustBeAnswered ? undefined : request.signal;
  const attempt = async (ending: AbortController): Promise<Answer> => {
    try {
      const response = await send(request, options, ending.signal);
      refuseRedirect(request, response);
      return { status: response.status, headers: response.headers, text: await textOf(request, response) };
    } catch (error) {
      if (error instanceof PlatformError) throw error;
      ending.signal.throwIfAborted();
      throw unreachable(request, redact(fetchCauseOf(error)), error);
    } finally {
      // Cancels an unread rest of the answer, which would occupy the connection and keep arriving.
      ending.abort();
    }
  };
  const { clock, timeout } = options;
  return withDeadline(clock, timeout, [signal], attempt, () => tooLate(request, timeout));
}

function send(
  { method, path, query, body, form }: PlatformRequest,
  { fetch: sendRequest, baseUrl, apiKey }: ResolvedPlatformOptions,
  signal: AbortSignal,
): Promise<Response> {
  return sendRequest(addressOf(baseUrl, path, query), {
    method,
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${apiKey}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(form !== undefined && { 'content-type': form.contentType }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(form !== undefined && { body: form.bytes }),
    redirect: 'manual',
    signal,
  });
}

/** Refuses redirects: following one would send the key, and the body of a PUT, to any address in the answer. */
function refuseRedirect(request: PlatformRequest, { status, type, redirected }: Response): void {
  if (!redirected && type !== 'opaqueredirect' && (status < 300 || status >= 400)) return;
  const { operation } = request;
  throw new PlatformError(
    `${operation} should be answered by the platform itself, but the answer was a redirect (${status}), which is not followed, ` +
      'so that the API key is sent to nobody else. Set baseUrl to the address of the API itself.' +
      (leavesOpen(status) ? doubtAbout(request) : ''),
    { operation, code: 'redirected', status },
  );
}

/** Decoding also removes a byte order mark, which JSON.parse would refuse. */
async function textOf(request: PlatformRequest, response: Response): Promise<string | undefined> {
  const bytes = await readBounded(response.body, maxAnswer);
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
    `${operation} should be answered with at most ${maxAnswer} bytes, but the answer is larger. ` +
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

function unreachable(request: PlatformRequest, cause: string, error: unknown): PlatformError {
  const { operation } = request;
  const neverSent = wasNeverSent(error);
  const check = metBadCertificate(causeIn(error))
    ? "Check baseUrl, this machine's clock, and, for a certificate authority of your own, NODE_EXTRA_CA_CERTS."
    : 'Check baseUrl and the connection.';
  return new PlatformError(
    `${operation} should reach the platform, but: ${oneLine(cause)}. ${check}` +
      (neverSent ? '' : doubtAbout(request)),
    { operation, code: 'unreachable', neverSent },
  );
}

/** The system calls before a connection: looking the name up, and connecting. */
const stepsBefore = new Set(['getaddrinfo', 'connect']);
/** The codes of a refused certificate. It is checked in the handshake, before the request is sent. */
const certificateCodes = /^(?:CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_|INVALID_CA)/;

/**
 * Whether `fetch` failed before the connection, so that nothing was sent: nobody listens, a name isn't found, a network
 * can't be reached, a certificate is refused. False if unsure, because only an unsent write may be repeated.
 */
function wasNeverSent(error: unknown): boolean {
  const cause = causeIn(error);
  return isBefore(cause) || metBadCertificate(cause);
}

function metBadCertificate(cause: unknown): boolean {
  return certificateCodes.test(codeOf(cause));
}

/** If a name has several addresses, the cause is an AggregateError with one error for each. */
function isBefore(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(isBefore);
  if (!(cause instanceof Error)) return false;
  const { syscall, code } = cause as NodeJS.ErrnoException;
  return stepsBefore.has(syscall ?? '') || code === 'UND_ERR_CONNECT_TIMEOUT';
}
