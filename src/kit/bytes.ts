import { hash, timingSafeEqual, webcrypto } from 'node:crypto';

const units = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 } as const;

/**
 * A size: bytes as a number, or a number with a unit (1 kb is 1,024 bytes).
 *
 * @example '5mb', 65536
 */
export type Size = number | `${number}${keyof typeof units}`;

/** The bytes of a size. Undefined if it isn't one. */
export function parseSize(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const match = /^(\d+(?:\.\d+)?) *(b|kb|mb|gb)$/.exec(value.trim().toLowerCase());
  if (!match) return undefined;
  return Math.floor(Number(match[1]) * units[match[2] as keyof typeof units]);
}

/**
 * Whether two byte strings are the same, in a time that depends only on their lengths: a comparison that stops at the
 * first difference lets a sender guess a signature byte by byte.
 */
export function equalInConstantTime(left: Uint8Array, right: Uint8Array): boolean {
  return left.byteLength === right.byteLength && timingSafeEqual(left, right);
}

/**
 * The SHA-256 of a text. Compare texts that may differ in length by their digests: the time of comparing the texts
 * would reveal the length.
 */
export function textDigest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** Up to this many bytes, hashing at once is cheaper than using another thread. */
const maxHashedHere = 64 * 1024;

/** The SHA-256 of bytes, in hex. Many bytes are hashed on another thread. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  if (bytes.byteLength <= maxHashedHere) return hash('sha256', bytes, 'hex');
  return Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)).toString(
    'hex',
  );
}

/** The first bytes of a text in UTF-8, at most `max`, without a partial character at the end. */
export function headOf(bytes: Uint8Array, max: number): Uint8Array {
  if (bytes.byteLength <= max) return bytes;
  let end = max;
  while (end > max - 3 && isContinuation(bytes[end])) end -= 1;
  return bytes.subarray(0, end);
}

/** Whether a byte is not the first of its character. */
function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80;
}

/** A UUID derived from a text: its truncated SHA-256, in version 8, the custom format of RFC 9562. */
export function digestUuid(text: string): string {
  const hex = hash('sha256', text, 'hex');
  const variant = ((Number.parseInt(hex.charAt(16), 16) & 0b0011) | 0b1000).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
