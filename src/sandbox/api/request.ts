import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { checked } from '../../errors/option-problems.ts';
import { jsonIn, readToEnd } from '../../kit/http-bodies.ts';
import { fieldsOf, valueAt } from '../../kit/values.ts';
import { type ApiRequest, type Issue, invalidRequest } from './route.ts';

/** More than any operation needs; the document shows no limit. */
const maxBytes = 1024 ** 2;
/** Deeper than any meaningful body, and far from the depth at which writing it as JSON would overflow the stack. */
const maxDepth = 64;
/** In one answer: with a mistake in each of many entries, it would be larger than the body. */
const maxIssues = 20;
const maxPageSize = 100;

/** The body as JSON; undefined if there is none. @throws ApiError `invalid` */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const bytes = await bytesOf(request);
  if (bytes.byteLength === 0) return undefined;
  if (!isJsonInUtf8(request.headers['content-type'])) {
    const msg = 'Should be application/json in UTF-8, and the Content-Type should say so';
    throw invalidRequest({ loc: ['body'], msg, type: 'content_type' });
  }
  const body = parse(bytes);
  if (isTooDeep(body)) {
    throw invalidRequest({ loc: ['body'], msg: `Should have at most ${maxDepth} levels`, type: 'too_deep' });
  }
  return body;
}

async function bytesOf(request: IncomingMessage): Promise<Uint8Array> {
  const refuse = (msg: string) => invalidRequest({ loc: ['body'], msg, type: 'unreadable' });
  const bytes = await readToEnd(request, maxBytes).catch(() => {
    throw refuse('Should arrive whole');
  });
  const { 'content-encoding': encoding = 'identity' } = request.headers;
  if (encoding.toLowerCase() !== 'identity') throw refuse('Should come as it is, without a Content-Encoding');
  if (bytes === undefined) throw refuse(`Should have at most ${maxBytes} bytes`);
  return bytes;
}

function isJsonInUtf8(contentType = ''): boolean {
  const [mediaType, ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charsets = parameters.filter((parameter) => parameter.startsWith('charset'));
  return mediaType === 'application/json' && charsets.every((charset) => /^charset="?utf-8"?$/.test(charset));
}

function parse(bytes: Uint8Array): unknown {
  const value = jsonIn(bytes);
  if (value !== undefined) return value;
  throw invalidRequest({ loc: ['body'], msg: 'Should be JSON in UTF-8', type: 'json_invalid' });
}

/** Goes level by level: recursion would overflow the stack on a deeply nested body. */
function isTooDeep(body: unknown): boolean {
  let level = [body];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxDepth) return true;
    level = level.flatMap((value) => Object.values(fieldsOf(value)));
  }
  return false;
}

/**
 * Checks a part of a request against a schema, and returns the schema's output. The messages are the schema's.
 *
 * @param part the first step of each issue's `loc` (platform document, HTTPValidationError)
 * @param beforeMessage the beginning of the messages, for schemas shared with seeds, whose messages say only what is
 *   expected
 * @throws ApiError `invalid` with an issue for each problem, at most twenty
 */
export function validated<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  part: 'path' | 'query' | 'body',
  beforeMessage = '',
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidRequest(
    ...result.error.issues.slice(0, maxIssues).map((issue) => issueOf(issue, value, part, beforeMessage)),
  );
}

function issueOf(
  { code, path, message }: z.core.$ZodIssue,
  value: unknown,
  part: string,
  beforeMessage: string,
): Issue {
  const steps = path.map((step) => (typeof step === 'number' ? step : String(step)));
  const found = valueAt(value, path);
  const loc = [part, ...steps];
  return found === undefined
    ? { loc, msg: 'Should be given', type: 'missing' }
    : { loc, msg: beforeMessage + message, type: code };
}

/**
 * The query of every list: `page_size`, which is required, and `page_token` from the previous page (docs/sandbox.md).
 * Its output is the size of the page, and the position after which it begins.
 */
export const pageSchema = z
  .object({
    page_size: checked(`Should be a whole number from 1 to ${maxPageSize}, once`, readSize),
    page_token: checked('Should be the next_page_token of another page, once', readToken).optional(),
  })
  .transform(({ page_size: size, page_token: after = 0 }) => ({ size, after }));

/** The page that a query asks for, by default with 20 items: the sandbox's choice where the document shows no list. */
export function pageIn(query: ApiRequest['query']): z.output<typeof pageSchema> {
  return validated(pageSchema, { page_size: '20', ...query }, 'query');
}

/** The opaque token for the page after this position; null, as on the last page, if there is none. */
export function tokenAfter(position: number | undefined): string | null {
  return position === undefined ? null : Buffer.from(`after:${position}`).toString('base64url');
}

function readSize(value: unknown): number | undefined {
  const size = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : 0;
  return size >= 1 && size <= maxPageSize ? size : undefined;
}

function readToken(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const [, position] = /^after:(\d{1,15})$/.exec(Buffer.from(value, 'base64url').toString()) ?? [];
  return position === undefined ? undefined : Number(position);
}
