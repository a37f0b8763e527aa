/**
 * Reads the bytes of an answer; undefined if there are more than `most`: an endless answer must not fill the memory. An
 * answer that is not read to its end is broken off.
 */
export async function readBounded(
  body: AsyncIterable<Uint8Array> | null,
  most: number,
): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    // Leaving the loop ends the connection.
    if (size > most) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
