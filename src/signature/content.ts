import { configError } from '../errors.ts';
import type { Layout } from '../model.ts';

/** A layout with its content template split around the body. */
export interface PreparedLayout {
  readonly layout: Layout;
  /** The literal texts and placeholders before and after the body, in order. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** Which placeholders are signed. */
  readonly signs: { readonly t: boolean; readonly id: boolean; readonly timestamp: boolean };
  /** The headers where `{id}` and `{timestamp}` are found. */
  readonly idHeader: string;
  readonly timestampHeader: string;
}

/** The values for the placeholders of a template, exactly as they are sent. */
export interface Values {
  readonly t: string | undefined;
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
}

/** Splits a layout's template, and determines the headers that its placeholders are read from. */
export function prepareLayout(layout: Layout): PreparedLayout {
  const parts = layout.content.split(/(\{\w+\})/).filter((part) => part !== '');
  const body = parts.indexOf('{body}');
  const isStandard = layout.header === 'webhook-signature';
  return {
    layout,
    before: parts.slice(0, body),
    after: parts.slice(body + 1),
    signs: {
      t: parts.includes('{t}'),
      id: parts.includes('{id}'),
      timestamp: parts.includes('{timestamp}'),
    },
    idHeader: isStandard ? 'webhook-id' : 'x-webhook-traceid',
    timestampHeader: isStandard ? 'webhook-timestamp' : 'x-webhook-timestamp',
  };
}

/** The text of some parts of a template, with the placeholders filled. */
export function fillParts(parts: readonly string[], values: Values): string {
  let text = '';
  for (const part of parts) text += fillPart(part, values) ?? '';
  return text;
}

function fillPart(part: string, values: Values): string | undefined {
  if (part === '{t}') return values.t;
  if (part === '{id}') return values.id;
  if (part === '{timestamp}') return values.timestamp;
  return part;
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
    fix: 'Take the body before a parser does, for example with express.raw({ type: () => true }).',
  });
}
