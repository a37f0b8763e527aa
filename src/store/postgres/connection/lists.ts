/** Lists of values in Postgres's binary format. In text format, each byte of a body would take two, and need escapes. */

export type ListValue = string | number | boolean | Uint8Array | null;

/** The numbers of the types in Postgres. */
const oids = { bytea: 17, text: 25, bigint: 20, boolean: 16 };
export type ListType = keyof typeof oids;
const headBytes = 20;

/** A list of values of one type. The statement must name the type of the list. */
export function listOf(type: ListType, values: readonly ListValue[]): Buffer {
  let size = headBytes;
  for (const value of values) size += 4 + bytesOf(value);
  const list = Buffer.allocUnsafe(size);
  // One dimension, nulls allowed, the type, the length, and the index of the first: 1.
  const head = [1, 1, oids[type], values.length, 1];
  for (const [index, part] of head.entries()) list.writeInt32BE(part, index * 4);
  let at = headBytes;
  for (const value of values) {
    at = list.writeInt32BE(value === null ? -1 : bytesOf(value), at);
    if (value !== null) at += write(list, value, at);
  }
  return list;
}

function bytesOf(value: ListValue): number {
  if (value === null) return 0;
  if (typeof value === 'string') return Buffer.byteLength(value);
  if (typeof value === 'number') return 8;
  return typeof value === 'boolean' ? 1 : value.byteLength;
}

/** Returns how many bytes the value took. */
function write(list: Buffer, value: Exclude<ListValue, null>, at: number): number {
  if (typeof value === 'string') return list.write(value, at);
  if (typeof value === 'number') return list.writeBigInt64BE(BigInt(value), at) - at;
  if (typeof value === 'boolean') return list.writeUInt8(Number(value), at) - at;
  list.set(value, at);
  return value.byteLength;
}
