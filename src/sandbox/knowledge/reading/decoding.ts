import { UnreadableDocument } from '../document-problem.ts';

/** How many bytes of a page are searched for its declared encoding, as browsers do. */
const maxBeforeEncoding = 1_024;

/** Decodes UTF-8, or UTF-16 with a byte order mark, which is removed. @throws UnreadableDocument `broken` */
export function decodeText(bytes: Uint8Array): string {
  return decode(bytes, markedEncoding(bytes) ?? 'utf-8');
}

/** Decodes UTF-8, else the encoding that a page declares, else the browsers' default. @throws UnreadableDocument */
export function decodeHtml(bytes: Uint8Array): string {
  const marked = markedEncoding(bytes);
  if (marked !== undefined) return decode(bytes, marked);
  try {
    return decode(bytes, 'utf-8');
  } catch {
    return decode(bytes, declaredEncoding(bytes) ?? 'windows-1252');
  }
}

function markedEncoding(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined;
}

function declaredEncoding(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, maxBeforeEncoding)).toString('latin1');
  const [, encoding] =
    /<(?:meta|\?xml)\b[^>]*?\b(?:charset|encoding)\s*=\s*["']?([\w:-]+)/i.exec(start) ?? [];
  return encoding;
}

function decode(bytes: Uint8Array, encoding: string): string {
  const text = decodeStrictly(bytes, encoding);
  // Text has no NUL, but many other files do.
  if (text.includes('\0')) throw new UnreadableDocument('broken');
  return text;
}

function decodeStrictly(bytes: Uint8Array, encoding: string): string {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch (error) {
    throw new UnreadableDocument('broken', { cause: error });
  }
}
