import type { IncomingMessage } from 'node:http';
import { readBounded } from '../../kit/http-bodies.ts';
import { isObject } from '../../kit/values.ts';
import { exactJsonIn } from '../../events/decoding.ts';
import { argumentLimits } from './lenient-arguments.ts';
import { ToolRefusal } from './tool-error.ts';

/** The largest body, in bytes: far above what a model writes, and too small to fill the memory. */
const maxBytes = 1024 * 1024;

interface ParsedRequest extends IncomingMessage {
  readonly body?: unknown;
}

/**
 * Reads the arguments of a call: the query for GET and DELETE, otherwise the JSON body, which an earlier parser may
 * have read. An empty body means no arguments.
 *
 * @throws ToolRefusal when they can't be read, or are too large
 */
export async function readArguments(request: ParsedRequest): Promise<unknown> {
  if (request.method === 'GET' || request.method === 'DELETE') return queryOf(request);
  if (isParsed(request)) return readParsed(request.body);
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') throw new ToolRefusal('encoded');
  return readJson(await collect(request));
}

/** Whether a parser has read the body. Express 4's parsers also set an empty object on unread requests. */
function isParsed({ body, readableDidRead }: ParsedRequest): boolean {
  if (body === undefined || body === null) return false;
  return readableDidRead || !isObject(body) || Object.keys(body).length > 0;
}

function readParsed(body: unknown): unknown {
  if (body instanceof Uint8Array) return readJson(body);
  return typeof body === 'string' ? readJson(Buffer.from(body)) : body;
}

function readJson(bytes: Uint8Array): unknown {
  if (bytes.byteLength === 0) return {};
  // Digits beyond a number's precision stay text: a rounded order number is another customer's.
  const value = exactJsonIn(bytes, argumentLimits);
  if (value === undefined) throw new ToolRefusal('unreadable');
  return value;
}

/** The arguments in the query. A repeated name becomes a list. */
function queryOf({ url = '' }: IncomingMessage): Readonly<Record<string, string | readonly string[]>> {
  const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
  const names = [...new Set(query.keys())];
  return Object.fromEntries(
    names.map((name) => {
      const values = query.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values] as const;
    }),
  );
}

async function collect(request: ParsedRequest): Promise<Uint8Array> {
  const bytes = await readBounded(bytesOf(request), maxBytes).catch(() => {
    throw new ToolRefusal('broken_off');
  });
  if (!bytes) throw new ToolRefusal('too_large');
  return bytes;
}

async function* bytesOf(request: ParsedRequest): AsyncGenerator<Uint8Array> {
  // Leaving another iteration early would destroy the socket that the answer needs.
  const chunks: AsyncIterable<Buffer | string> = request.iterator({ destroyOnReturn: false });
  // Text if a middleware has set an encoding.
  for await (const chunk of chunks)
    yield typeof chunk === 'string' ? Buffer.from(chunk, request.readableEncoding ?? 'utf8') : chunk;
}
