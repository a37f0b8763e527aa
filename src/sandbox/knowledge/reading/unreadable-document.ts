/**
 * Why a document can't be read, and the limits beyond which it isn't: a few kilobytes can unpack to gigabytes, or keep a
 * parser busy for hours.
 */

/** The most bytes of a file: the parsers take some fifty times as much memory for the worst of them. */
export const maxBytes = 20 * 1024 * 1024;
/** The most characters of the resulting text. */
export const maxCharacters = 5_000_000;
/** How long reading may take, in milliseconds, with the start of the thread. */
export const timeout = 60_000;
/** The most memory of the thread, in bytes, on its heap and beside it. */
export const maxMemory = 1024 * 1024 * 1024;
/** How often the memory is looked at, in milliseconds. */
export const memoryInterval = 50;
/** The most bytes that the XML of a Word document unpacks to. */
export const maxUnpackedBytes = 50 * 1024 * 1024;
/** In a larger page, or one that is nested deeper, the main content isn't looked for: that takes the cube of the depth. */
export const maxElements = 50_000;
export const maxDepth = 100;

const sentences = {
  empty: 'The document has no text',
  too_large: 'The document, or what it unpacks to, is too large to be read',
  unsupported_type: 'Documents of this type are not supported',
  broken: 'The document is damaged, or is not of the type that it claims to be',
  too_slow: 'Reading the document takes too long',
  encrypted: 'The document is protected with a password',
} as const;

/** Why a document can't be read: what is kept as the reason of a failed document. */
export class UnreadableDocument extends Error {
  override readonly name = 'UnreadableDocument';
  readonly reason: keyof typeof sentences;

  constructor(reason: UnreadableDocument['reason'], options?: ErrorOptions) {
    super(sentences[reason], options);
    this.reason = reason;
  }
}
