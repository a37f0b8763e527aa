import { createHmac } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { configError } from '../errors/errors.ts';
import type { Headers, Scheme } from '../events/model.ts';
import { headerText } from './headers.ts';

/** A scheme with its content template split around the body. */
export interface PreparedScheme {
  readonly scheme: Scheme;
  /** The literal texts and placeholders before and after the body, in order. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Which placeholders are signed. */
  readonly signs: { readonly t: boolean; readonly id: boolean; readonly timestamp: boolean };
  /** The headers that `{id}` and `{timestamp}` are read from. */
  readonly idHeader: string;
  readonly timestampHeader: string;
}

/** The values for the placeholders of a template, exactly as they are sent. */
export interface Values {
  readonly t: string | undefined;
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
}

/** Splits a scheme's template, and determines the headers that its placeholders are read from. */
export function prepareScheme(scheme: Scheme): PreparedScheme {
  const parts = scheme.content.split(/(\{\w+\})/).filter((part) => part !== '');
  const body = parts.indexOf('{body}');
  return {
    scheme,
    before: parts.slice(0, body),
    after: parts.slice(body + 1),
    signs: {
      t: parts.includes('{t}'),
      id: parts.includes('{id}'),
      timestamp: parts.includes('{timestamp}'),
    },
    ...(scheme.header === 'webhook-signature' ? standardHeaders : platformHeaders),
  };
}

const platformHeaders = { idHeader: 'x-webhook-traceid', timestampHeader: 'x-webhook-timestamp' };
const standardHeaders = { idHeader: 'webhook-id', timestampHeader: 'webhook-timestamp' };

/** Whether the signature covers the id in the header. The scheme is undefined for an unsigned subscription. */
export function signsId(scheme: Scheme | undefined): scheme is Scheme {
  return scheme?.content.includes('{id}') ?? false;
}

/**
 * The headers of a delivery that verified in a scheme that signs the id. An unsigned id in another header is left out:
 * anybody who holds a delivery could put another event's id there.
 */
export function withoutUnsignedId(headers: Headers, scheme: Scheme): Headers {
  const { idHeader } = prepareScheme(scheme);
  const { [platformHeaders.idHeader]: _, [standardHeaders.idHeader]: __, ...others } = headers;
  return { ...others, [idHeader]: headerText(headers, idHeader) };
}

/** The text of some parts of a template, with the placeholders filled. */
export function fillParts(parts: readonly string[], values: Values): string {
  let text = '';
  for (const part of parts) {
    if (part === '{t}') text += values.t ?? '';
    else if (part === '{id}') text += values.id ?? '';
    else if (part === '{timestamp}') text += values.timestamp ?? '';
    else text += part;
  }
  return text;
}

/** The HMAC of `before`, the body and `after`. The body is hashed as bytes: decoding and encoding could change it. */
export function digestOf(
  hash: Scheme['hash'],
  key: KeyObject,
  before: string,
  body: Uint8Array,
  after: string,
): Buffer {
  return createHmac(hash, key).update(before).update(body).update(after).digest();
}

/**
 * The bytes of a body given by a user.
 *
 * @throws ConfigError `option_invalid` when it is neither bytes nor text: a parsed body no longer has its raw bytes.
 */
export function bodyBytes(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  if (typeof body === 'string') return Buffer.from(body);
  throw configError('option_invalid', {
    option: 'body',
    expected: 'the raw bytes or the text of the request',
    found: `of type ${body === null ? 'null' : typeof body}`,
    fix: 'Read the body before a parser does, for example with express.raw({ type: () => true }).',
  });
}
