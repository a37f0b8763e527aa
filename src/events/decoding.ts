/** Why bytes can't be read as an event. Such a delivery is quarantined: a retry would send the same bytes. */
export const unreadables = ['empty', 'not_utf8', 'not_json', 'not_an_object'] as const;

export type Unreadable = (typeof unreadables)[number];

/** The JSON object that a body holds, or the reason why there is none. */
export type Decoded =
  | { readonly ok: true; readonly value: Record<string, unknown> }
  | { readonly ok: false; readonly reason: Unreadable };

/**
 * Decodes the JSON object in the bytes of a body. Invalid UTF-8 is not accepted, because a replaced character would
 * silently change a name; a byte order mark is. Integers that a JavaScript number can't hold become strings of the same
 * digits: if they were rounded, two different calls could get the same id.
 *
 * @example decodeBody(Buffer.from('{"call_id":1234567890123456789}')) // value.call_id is '1234567890123456789'
 */
export function decodeBody(bytes: Uint8Array): Decoded {
  const text = decodeText(bytes);
  if (text === undefined) return { ok: false, reason: 'not_utf8' };
  const parsed = parseJson(text);
  if (!parsed) return { ok: false, reason: text.trim() === '' ? 'empty' : 'not_json' };
  return isRecord(parsed.value) ? { ok: true, value: parsed.value } : { ok: false, reason: 'not_an_object' };
}

/** Whether a value is a JSON object: not null, not an array. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

function parseJson(text: string): { value: unknown } | undefined {
  try {
    return { value: mayHoldBigInteger.test(text) ? parseKeepingIntegers(text) : JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** A number of 16 digits or more where a JSON value can start. A match inside a text costs only time. */
const mayHoldBigInteger = /(?:^|[[:,\s])-?\d{16}/;

function parseKeepingIntegers(text: string): unknown {
  try {
    return JSON.parse(text, keepInteger);
  } catch (error) {
    // JSON.parse recurses only with a reviver: without one, nesting that overflows the stack is still readable.
    if (error instanceof RangeError) return JSON.parse(withQuotedIntegers(text));
    throw error;
  }
}

/** The texts and numbers of JSON. */
const textsAndNumbers = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Valid JSON in which the integers that a number can't hold are texts. */
function withQuotedIntegers(text: string): string {
  return text.replace(textsAndNumbers, (found) =>
    found.startsWith('"') || !isRoundedInteger(Number(found), found) ? found : `"${found}"`,
  );
}

/** TypeScript's library doesn't know the third argument yet; every supported Node passes it. */
function keepInteger(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return isRoundedInteger(value, context?.source) ? context?.source : value;
}

function isRoundedInteger(value: unknown, source: string | undefined): boolean {
  return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '');
}
