import { jsonIn } from '../../kit/http-bodies.ts';

export interface Variant {
  /** Completes "it verifies …". */
  readonly how: string;
  readonly body: Buffer;
}

/**
 * The body with the most frequent alterations between the platform and a file: at its end by an editor, in its line
 * breaks by a transfer, or everywhere by a parser that rewrote the JSON. The variant that verifies shows what happened.
 */
export function variantsOf(body: Buffer): readonly Variant[] {
  const variants = [...lineBreaks(body), ...unlessTooDeep(() => rewritten(body))];
  return variants.filter((variant) => !variant.body.equals(body));
}

/** No variants if the JSON is nested too deeply to write: a parser on the way couldn't have rewritten it either. */
function unlessTooDeep(write: () => readonly Variant[]): readonly Variant[] {
  try {
    return write();
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** Reads the body as latin1, which preserves every byte. */
function lineBreaks(body: Buffer): readonly Variant[] {
  const text = body.toString('latin1');
  const variants = {
    'without the line break at its end': text.replace(/[\r\n]+$/, ''),
    'with a line break (LF) at its end': `${text}\n`,
    'with LF for each CRLF': text.replaceAll('\r\n', '\n'),
    'with CRLF for each LF': text.replaceAll(/\r?\n/g, '\r\n'),
  };
  return Object.entries(variants).map(([how, changed]) => ({ how, body: Buffer.from(changed, 'latin1') }));
}

function rewritten(body: Buffer): readonly Variant[] {
  const value = jsonIn(body.toString());
  if (value === undefined) return [];
  const texts = {
    'as JSON without whitespace': JSON.stringify(value),
    'as JSON with a space after each comma and colon': spaced(value),
    'as JSON indented by two spaces': JSON.stringify(value, null, 2),
    'as JSON indented by four spaces': JSON.stringify(value, null, 4),
  };
  return Object.entries(texts).flatMap(([how, text]) => [
    { how, body: Buffer.from(text) },
    { how: `${how}, in ASCII only`, body: Buffer.from(inAscii(text)) },
  ]);
}

/** JSON with a space after each comma and colon, the default in some languages. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, inner]) => `${JSON.stringify(name)}: ${spaced(inner)}`);
  return `{${entries.join(', ')}}`;
}

function inAscii(text: string): string {
  return text.replaceAll(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
