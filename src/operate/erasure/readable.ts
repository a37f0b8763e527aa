const [backslash, letterU] = [0x5c, 0x75];

/** What the other escapes of JSON stand for, by the character behind the backslash: control characters are blanks. */
const others: ReadonlyMap<number, number> = new Map(
  Array.from(Buffer.from('"\\/bfnrt'), (code) => [code, code > 0x60 ? 0x20 : code]),
);

/** The text with its JSON escapes decoded: any character may be written as an escape. */
export function readable(content: string | Uint8Array): string {
  const text = typeof content === 'string' ? content : Buffer.from(content).toString('utf8');
  return text.includes('\\') ? unescaped(text) : text;
}

/**
 * Character by character, into the bytes of the result. A body may have five megabytes of escapes, as text in another
 * script often has: replaced one by one, they would block the event loop for seconds.
 */
function unescaped(text: string): string {
  const read = Buffer.allocUnsafe(2 * text.length);
  let length = 0;
  for (let at = 0; at < text.length;) {
    let code = text.charCodeAt(at);
    let size = 1;
    if (code === backslash) {
      const next = text.charCodeAt(at + 1);
      const decoded = next === letterU ? hexAt(text, at + 2) : others.get(next);
      if (decoded !== undefined) [code, size] = [decoded, next === letterU ? 6 : 2];
    }
    read[length] = code & 0xff;
    read[length + 1] = code >>> 8;
    length += 2;
    at += size;
  }
  return read.toString('utf16le', 0, length);
}

/** The number that four hexadecimal digits stand for; undefined if there are other characters. */
function hexAt(text: string, at: number): number | undefined {
  let value = 0;
  for (let index = at; index < at + 4; index += 1) {
    const code = text.charCodeAt(index);
    const letter = code | 0x20;
    if (code >= 0x30 && code <= 0x39) value = value * 16 + code - 0x30;
    else if (letter >= 0x61 && letter <= 0x66) value = value * 16 + letter - 0x57;
    else return undefined;
  }
  return value;
}
