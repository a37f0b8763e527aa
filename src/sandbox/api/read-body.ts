import express, { type Request, type Response } from 'express';
import { isObject } from '../../option-problems.ts';
import { ApiError } from './route.ts';

/** More than any operation needs; the document shows no limit. */
const mostBytes = 1024 ** 2;
/** Deeper than any meaningful body, and far from the depth at which writing it as JSON would overflow the stack. */
const deepest = 64;

const readBytes = express.raw({ type: () => true, limit: mostBytes, inflate: false });

/** The message for a body that can't be read, by the body parser's name for the error. */
const unread: Readonly<Record<string, string>> = {
  'entity.too.large': `Should have at most ${mostBytes} bytes`,
  'encoding.unsupported': 'Should come as it is, without a Content-Encoding',
};

/**
 * The body of a request as JSON; undefined when there is none.
 *
 * @throws ApiError `invalid` for another media type or charset, and for a body that is too large, too deep, compressed,
 *   not UTF-8 or not JSON
 */
export async function readBody(request: Request, response: Response): Promise<unknown> {
  const bytes = await bytesOf(request, response);
  if (bytes === undefined || bytes.byteLength === 0) return undefined;
  if (!isJsonInUtf8(request.headers['content-type'])) {
    throw bodyError(
      'content_type',
      'Should be application/json in UTF-8, and the Content-Type should say so',
    );
  }
  const body = parse(bytes);
  if (isTooDeep(body)) throw bodyError('too_deep', `Should have at most ${deepest} levels`);
  return body;
}

async function bytesOf(request: Request, response: Response): Promise<Uint8Array | undefined> {
  try {
    await new Promise<void>((resolve, reject) => {
      readBytes(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(error)));
    });
  } catch (error) {
    const { type = '' } = error as { type?: string };
    throw bodyError('unreadable', unread[type] ?? 'Should arrive whole');
  }
  return request.body as Uint8Array | undefined;
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
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw bodyError('json_invalid', 'Should be JSON in UTF-8');
  }
}

/** Goes level by level: a recursive function would overflow the stack on a deeply nested body. */
function isTooDeep(body: unknown): boolean {
  let level = [body];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest) return true;
    level = level.flatMap((value) => (isObject(value) ? Object.values(value) : []));
  }
  return false;
}

function bodyError(type: string, msg: string): ApiError {
  return new ApiError('invalid', 'The request is not valid', [{ loc: ['body'], msg, type }]);
}
