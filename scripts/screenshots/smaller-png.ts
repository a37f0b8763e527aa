/**
 * Makes a browser's picture smaller. A page has few colours, but its letters have thousands of shades at their edges:
 * with the 256 most frequent ones, a picture takes less than half, and nobody sees the difference.
 */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const signature = Buffer.from('89504e470d0a1a0a', 'hex');
const maxColours = 256;

/** The same picture with at most 256 colours. */
export function smallerPng(png: Buffer): Buffer {
  const chunks = [...chunksOf(png)];
  const header = Buffer.from(chunks.find(({ type }) => type === 'IHDR')?.data ?? Buffer.alloc(13));
  const [width, height, depth, kind] = [header.readUInt32BE(0), header.readUInt32BE(4), header[8], header[9]];
  if (depth !== 8 || (kind !== 2 && kind !== 6) || header[12] !== 0)
    throw new Error('The picture is not as browsers make it: 8 bits a colour, not interlaced.');
  const rows = inflateSync(
    Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)),
  );
  const pixelBytes = kind === 2 ? 3 : 4;
  removeFilters(rows, 1 + width * pixelBytes, pixelBytes, height);

  const colourAt = (row: number, column: number) =>
    rows.readUIntBE(row * (1 + width * pixelBytes) + 1 + column * pixelBytes, 3);
  const counts = new Map<number, number>();
  for (let row = 0; row < height; row += 1)
    for (let column = 0; column < width; column += 1) {
      const colour = colourAt(row, column);
      counts.set(colour, (counts.get(colour) ?? 0) + 1);
    }
  const palette = [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([colour]) => colour)
    .slice(0, maxColours);
  const places = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour)]));
  // The first byte of a row is its filter: none.
  const indexed = Buffer.alloc(height * (1 + width));
  for (let row = 0; row < height; row += 1)
    for (let column = 0; column < width; column += 1)
      indexed[row * (1 + width) + 1 + column] = places.get(colourAt(row, column)) ?? 0;

  const colours = Buffer.alloc(palette.length * 3);
  for (const [place, colour] of palette.entries()) colours.writeUIntBE(colour, place * 3, 3);
  header[9] = 3;
  return Buffer.concat([
    signature,
    chunkOf('IHDR', header),
    chunkOf('PLTE', colours),
    chunkOf('IDAT', deflateSync(indexed, { level: 9 })),
    chunkOf('IEND', Buffer.alloc(0)),
  ]);
}

/** The place of the colour in the palette that differs least. */
function nearest(palette: readonly number[], colour: number): number {
  const distances = palette.map((other) =>
    [0, 8, 16].reduce((sum, shift) => sum + (((other >> shift) & 255) - ((colour >> shift) & 255)) ** 2, 0),
  );
  return distances.indexOf(Math.min(...distances));
}

function* chunksOf(png: Buffer): Generator<{ readonly type: string; readonly data: Buffer }> {
  for (let at = signature.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) };
    at += 12 + length;
  }
}

function chunkOf(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** Each row begins with its filter, by which a byte is a difference from those to its left, above, and above that. */
function removeFilters(rows: Buffer, rowBytes: number, pixelBytes: number, height: number): void {
  for (let row = 0; row < height; row += 1) {
    const begin = row * rowBytes;
    const filter = rows[begin];
    rows[begin] = 0;
    for (let at = begin + 1; at < begin + rowBytes; at += 1) {
      const isFirst = at - begin <= pixelBytes;
      const left = isFirst ? 0 : (rows[at - pixelBytes] ?? 0);
      const above = row === 0 ? 0 : (rows[at - rowBytes] ?? 0);
      const corner = isFirst || row === 0 ? 0 : (rows[at - rowBytes - pixelBytes] ?? 0);
      rows[at] = (rows[at] ?? 0) + predicted(filter, left, above, corner);
    }
  }
}

function predicted(filter: number | undefined, left: number, above: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return above;
  if (filter === 3) return (left + above) >> 1;
  if (filter !== 4) return 0;
  const toLeft = Math.abs(above - corner);
  const toAbove = Math.abs(left - corner);
  const toCorner = Math.abs(left + above - 2 * corner);
  if (toLeft <= toAbove && toLeft <= toCorner) return left;
  return toAbove <= toCorner ? above : corner;
}
