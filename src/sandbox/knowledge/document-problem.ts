/** Why a document failed: a code for programs, and a sentence for people. It contains nothing of the document. */
export interface DocumentProblem {
  readonly code: string;
  readonly message: string;
}

export class DocumentFailure extends Error {
  override readonly name = 'DocumentFailure';
  readonly code: string;

  constructor({ code, message }: DocumentProblem, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

// Beyond these limits, a document isn't read: a few kilobytes can unpack to gigabytes, or keep a parser busy for hours.

/** The most bytes of a file: parsers need up to some fifty times as much memory. */
export const maxBytes = 20 * 1024 * 1024;
export const maxCharacters = 5_000_000;
/** The most unpacked bytes of a Word document's XML. */
export const maxUnpackedBytes = 50 * 1024 * 1024;
/** The main content of a larger or deeper page isn't searched for, which takes time cubic in the depth. */
export const maxElements = 50_000;
export const maxDepth = 100;

const sentences = {
  empty: 'The document has no text',
  too_large: 'The document, or what it unpacks to, is too large to be read',
  unsupported_type:
    'Documents of this type are not supported. Supported are text, Markdown, HTML, PDF and DOCX',
  broken: 'The document is damaged, or is not of the declared type',
  too_slow: 'Reading the document took too long',
  encrypted: 'The document is protected with a password',
} as const;

export class UnreadableDocument extends DocumentFailure {
  constructor(code: keyof typeof sentences, options?: ErrorOptions) {
    super({ code, message: sentences[code] }, options);
  }
}
