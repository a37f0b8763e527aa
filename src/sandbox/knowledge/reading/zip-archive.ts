/** Checks ZIP archives (APPNOTE.TXT 4.3) before a parser unpacks them, which would trust their declared sizes. */
import { inflateRawSync } from 'node:zlib';
import { codeOf } from '../../../kit/error-text.ts';
import { UnreadableDocument } from '../document-problem.ts';

interface Entry {
  readonly name: string;
  readonly isEncrypted: boolean;
  readonly method: number;
  readonly packedSize: number;
  readonly headerAt: number;
}

const signatures = { local: 0x04034b50, central: 0x02014b50, end: 0x06054b50 } as const;
const headerSizes = { local: 30, central: 46, end: 22 } as const;
const stored = 0;
const deflated = 8;
const maxComment = 0xff_ff;
const maxEntries = 10_000;

/**
 * Checks that the wanted files of an archive can be unpacked, and have at most `maxBytes` bytes together.
 *
 * @throws UnreadableDocument `broken`, `too_large`, `encrypted`
 */
export function checkArchive(archive: Buffer, isWanted: (name: string) => boolean, maxBytes: number): void {
  let left = maxBytes;
  for (const entry of entriesOf(archive))
    if (isWanted(entry.name)) left -= unpackedSize(archive, entry, left);
}

function entriesOf(archive: Buffer): readonly Entry[] {
  const end = endRecordAt(archive);
  const count = archive.readUInt16LE(end + 10);
  if (count > maxEntries) throw new UnreadableDocument('too_large');
  let at = archive.readUInt32LE(end + 16);
  return Array.from({ length: count }, () => {
    if (!isHeader(archive, at, 'central')) throw new UnreadableDocument('broken');
    const nameLength = archive.readUInt16LE(at + 28);
    const entry = {
      name: archive.toString('utf8', at + headerSizes.central, at + headerSizes.central + nameLength),
      isEncrypted: (archive.readUInt16LE(at + 8) & 1) === 1,
      method: archive.readUInt16LE(at + 10),
      packedSize: archive.readUInt32LE(at + 20),
      headerAt: archive.readUInt32LE(at + 42),
    };
    at += headerSizes.central + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
    return entry;
  });
}

/** Finds the record at the end of an archive, which locates the others. A comment may follow it. */
function endRecordAt(archive: Buffer): number {
  const first = Math.max(0, archive.length - headerSizes.end - maxComment);
  for (let at = archive.length - headerSizes.end; at >= first; at -= 1) {
    if (isHeader(archive, at, 'end')) return at;
  }
  throw new UnreadableDocument('broken');
}

function unpackedSize(archive: Buffer, entry: Entry, maxBytes: number): number {
  const { headerAt, packedSize, method } = entry;
  if (entry.isEncrypted) throw new UnreadableDocument('encrypted');
  if (!isHeader(archive, headerAt, 'local')) throw new UnreadableDocument('broken');
  const lengths = archive.readUInt16LE(headerAt + 26) + archive.readUInt16LE(headerAt + 28);
  const start = headerAt + headerSizes.local + lengths;
  const packed = archive.subarray(start, start + packedSize);
  if (packed.length < packedSize || (method !== stored && method !== deflated)) {
    throw new UnreadableDocument('broken');
  }
  const { length } = method === stored ? packed : inflate(packed, maxBytes);
  if (length > maxBytes) throw new UnreadableDocument('too_large');
  return length;
}

function inflate(packed: Buffer, maxBytes: number): Buffer {
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(maxBytes, 1) });
  } catch (error) {
    const problem = codeOf(error) === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'broken';
    throw new UnreadableDocument(problem, { cause: error });
  }
}

function isHeader(archive: Buffer, at: number, kind: keyof typeof signatures): boolean {
  const isWithin = at >= 0 && at + headerSizes[kind] <= archive.length;
  return isWithin && archive.readUInt32LE(at) === signatures[kind];
}
