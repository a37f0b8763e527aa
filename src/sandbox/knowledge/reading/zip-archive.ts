/**
 * Reads and writes ZIP archives, as far as Word documents need them (APPNOTE.TXT 4.3). Archives are unpacked here and
 * repacked for the parser, which would trust their declared sizes.
 */
import { crc32, inflateRawSync } from 'node:zlib';
import { codeOf } from '../../../kit/error-text.ts';
import { UnreadableDocument } from '../document-problem.ts';

/** An unpacked file of an archive. */
interface ArchivedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

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
 * Unpacks the wanted files of an archive.
 *
 * @param maxBytes the most bytes in all
 * @throws UnreadableDocument `broken`, `too_large`, `encrypted`
 */
export function unpack(
  archive: Buffer,
  isWanted: (name: string) => boolean,
  maxBytes: number,
): readonly ArchivedFile[] {
  let left = maxBytes;
  return entriesOf(archive)
    .filter(({ name }) => isWanted(name))
    .map((entry) => {
      const bytes = unpackEntry(archive, entry, left);
      left -= bytes.byteLength;
      return { name: entry.name, bytes };
    });
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

function unpackEntry(archive: Buffer, entry: Entry, maxBytes: number): Uint8Array {
  const { headerAt, packedSize, method } = entry;
  if (entry.isEncrypted) throw new UnreadableDocument('encrypted');
  if (!isHeader(archive, headerAt, 'local')) throw new UnreadableDocument('broken');
  const lengths = archive.readUInt16LE(headerAt + 26) + archive.readUInt16LE(headerAt + 28);
  const start = headerAt + headerSizes.local + lengths;
  const packed = archive.subarray(start, start + packedSize);
  if (packed.length < packedSize || (method !== stored && method !== deflated)) {
    throw new UnreadableDocument('broken');
  }
  const bytes = method === stored ? packed : inflate(packed, maxBytes);
  if (bytes.length > maxBytes) throw new UnreadableDocument('too_large');
  return bytes;
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

/** Makes an uncompressed archive of these files. */
export function pack(files: readonly ArchivedFile[]): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let size = 0;
  for (const { name, bytes } of files) {
    const central = centralHeader(name, bytes, size);
    // The local header has the same fields, except those of the directory only.
    const local = Buffer.alloc(headerSizes.local);
    local.writeUInt32LE(signatures.local, 0);
    central.copy(local, 4, 6, 32);
    locals.push(local, Buffer.from(name), Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    centrals.push(central, Buffer.from(name));
    size += local.length + Buffer.byteLength(name) + bytes.byteLength;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(headerSizes.end);
  end.writeUInt32LE(signatures.end, 0);
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(size, 16);
  return Buffer.concat([...locals, directory, end]);
}

function centralHeader(name: string, bytes: Uint8Array, headerAt: number): Buffer {
  const header = Buffer.alloc(headerSizes.central);
  header.writeUInt32LE(signatures.central, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt16LE(20, 6);
  // The name is in UTF-8.
  header.writeUInt16LE(0x08_00, 8);
  header.writeUInt16LE(stored, 10);
  header.writeUInt32LE(crc32(bytes), 16);
  header.writeUInt32LE(bytes.byteLength, 20);
  header.writeUInt32LE(bytes.byteLength, 24);
  header.writeUInt16LE(Buffer.byteLength(name), 28);
  header.writeUInt32LE(headerAt, 42);
  return header;
}
