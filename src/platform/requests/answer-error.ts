/** Reads the three error bodies of the platform's document, and any other failed answer. */
import { isObject } from '../../kit/values.ts';
import { jsonIn } from '../../kit/http-bodies.ts';
import { type Redact, PlatformError, oneLine, redacted } from './platform-error.ts';
import { type Answer, type PlatformRequest, doubtAbout, leavesOpen } from './request.ts';
import { readRetryAfter } from './retry.ts';

interface ErrorBody {
  readonly code: string;
  readonly message: string | undefined;
  readonly details: unknown;
  readonly requestId: string | undefined;
}

/** The longest error body that is read, in characters: a longer one explains nothing and bloats the error. */
const maxErrorBody = 65_536;

const advice: Readonly<Record<number, string>> = {
  401: 'Check that apiKey is a key of this platform and still valid.',
  404: 'Check baseUrl and the ids: resources of another organization get the same answer.',
  429: 'Send less, or try again later.',
  500: 'The failure is in the platform. If it persists, contact its support.',
  502: 'The failure is in the platform or on the way to it. If it persists, contact its support.',
  503: 'Try again later: nothing is wrong with the request.',
  504: 'The platform took too long to answer.',
};

/** Advice for codes for which that of the status would be wrong. */
const adviceOfCode: ReadonlyMap<string, string> = new Map([
  ['website_unreachable', "Check the website's address, and that the platform can reach it."],
]);

/** The error for a failed answer (platform document, Errors). `now` is for a `Retry-After` in an answer without a `Date`. */
export function refusalOf(
  request: PlatformRequest,
  answer: Answer,
  redact: Redact,
  now: number,
): PlatformError {
  const { operation } = request;
  const { status, headers } = answer;
  const body = readBody(status, bodyOf(answer, redact));
  const message = body.message === undefined ? '' : `: ${oneLine(body.message).replace(/\.$/, '')}`;
  const code = oneLine(body.code);
  // Compared with the platform's own clock, since this machine's may be wrong.
  const sentAt = Date.parse(headers.get('date') ?? '');
  const retryAfter = readRetryAfter(headers.get('retry-after'), Number.isNaN(sentAt) ? now : sentAt);
  const doubt = leavesOpen(status, retryAfter) ? doubtAbout(request) : '';
  const requestId = body.requestId ?? headers.get('x-request-id') ?? undefined;
  return new PlatformError(
    [
      `${operation} was answered with ${status} (${code})${message}.`,
      adviceOfCode.get(code) ?? advice[status],
    ]
      .filter(Boolean)
      .join(' ') + doubt,
    {
      operation,
      code,
      status,
      details: body.details,
      requestId: requestId === undefined ? undefined : oneLine(redact(requestId)),
      retryAfter,
    },
  );
}

/**
 * The body of an error: its JSON, or the beginning of other text; undefined if it is empty or too long. Redacted first,
 * because a credential can't be found any more once it is escaped or cut.
 */
function bodyOf({ text = '' }: Answer, redact: Redact): unknown {
  if (text.length > maxErrorBody) return undefined;
  const json = jsonIn(text);
  return json === undefined ? textIn(oneLine(redact(text))) : redacted(json, redact);
}

/** A success that is not JSON, such as the page of a proxy. */
export function notJson(
  request: PlatformRequest,
  { status, headers }: Answer,
  redact: Redact,
): PlatformError {
  const { operation } = request;
  const found = oneLine(redact(headers.get('content-type') ?? 'no content type'));
  return new PlatformError(
    `${operation} should be answered with JSON, but the answer (${status}, ${found}) is not JSON. ` +
      'Check that baseUrl is the address of the API, not of a web page or a proxy.' +
      doubtAbout(request),
    { operation, code: 'not_json', status },
  );
}

function readBody(status: number, body: unknown): ErrorBody {
  if (!isObject(body)) return unknownBody(status, body);
  const { detail, error, type, message, details } = body;
  if (Array.isArray(detail) || typeof detail === 'string') return readValidation(detail, body);
  const code = textIn(error) ?? textIn(type);
  if (code === undefined) return unknownBody(status, body);
  const text = [textIn(message)?.replace(/\.$/, ''), summaryOf(details)].filter(Boolean).join(': ');
  return { code, message: textIn(text), details, requestId: requestIdIn(body) };
}

/** The details as text: the message may only say that something is wrong, not what. */
function summaryOf(details: unknown): string | undefined {
  if (!isObject(details) || Object.keys(details).length === 0) return undefined;
  return JSON.stringify(details);
}

/** Reads an HTTPValidationError. Keeps only three fields, because others may quote the refused input. */
function readValidation(detail: unknown, body: Readonly<Record<string, unknown>>): ErrorBody {
  const items: readonly unknown[] = Array.isArray(detail) ? detail : [];
  const details = items.filter(isObject).map(({ loc, msg, type }) => ({ loc, msg, type }));
  const lines = details.map(({ loc, msg }) => {
    const place = Array.isArray(loc) ? loc.filter(isStep).join('.') : '';
    return [place, textIn(msg)].filter(Boolean).join(': ');
  });
  return {
    code: 'HTTPValidationError',
    message: textIn(detail) ?? textIn(lines.filter((line) => line !== '').join('; ')),
    details,
    requestId: requestIdIn(body),
  };
}

/** Whether this can be a step of a location. Converting other values to text may throw. */
function isStep(step: unknown): boolean {
  return typeof step === 'string' || typeof step === 'number';
}

function unknownBody(status: number, body: unknown): ErrorBody {
  const message = isObject(body) ? textIn(body['message']) : undefined;
  return { code: `http_${status}`, message, details: body, requestId: requestIdIn(body) };
}

/** `trace_id` in one of the document's bodies, `traceId` in another. */
function requestIdIn(body: unknown): string | undefined {
  return isObject(body) ? (textIn(body['trace_id']) ?? textIn(body['traceId'])) : undefined;
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}
