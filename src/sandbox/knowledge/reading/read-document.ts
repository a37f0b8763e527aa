import { type DocumentType, checkFirstBytes } from './document-types.ts';
import { UnreadableDocument, maxBytes, maxCharacters } from '../document-problem.ts';

/** An uploaded document, or a fetched page. */
export interface Material {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: DocumentType;
}

type Reader = (bytes: Uint8Array<ArrayBuffer>) => string | Promise<string>;

/** Each reader is loaded only for its type. */
const readers: Readonly<Record<DocumentType, () => Promise<Reader>>> = {
  text: async () => (await import('./decoding.ts')).decodeText,
  markdown: async () => (await import('./markdown.ts')).readMarkdown,
  html: async () => (await import('./html.ts')).readHtml,
  pdf: async () => (await import('./pdf.ts')).readPdf,
  docx: async () => (await import('./docx.ts')).readDocx,
};

/**
 * The text of a document: paragraphs, headings and rows separated by blank lines or line breaks. Documents are
 * untrusted, and parsers block the thread and need memory, so only a processing thread calls this.
 *
 * @throws UnreadableDocument, ConfigError `package_missing`, and any error of a parser
 */
export async function readDocument({ bytes, type }: Material): Promise<string> {
  if (bytes.byteLength === 0) throw new UnreadableDocument('empty');
  if (bytes.byteLength > maxBytes) throw new UnreadableDocument('too_large');
  checkFirstBytes(bytes, type);
  const read = await readers[type]();
  const text = tidied(await read(bytes));
  if (text === '') throw new UnreadableDocument('empty');
  if (text.length > maxCharacters) throw new UnreadableDocument('too_large');
  return text;
}

/** Unifies line breaks, and removes trailing spaces and repeated blank lines. */
function tidied(text: string): string {
  return (
    text
      .toWellFormed()
      .replace(/\r\n?/g, '\n')
      // The look-behind makes it one pass: otherwise it would start again at each space of a run.
      .replace(/(?<![^\S\n])[^\S\n]+$/gm, '')
      .replace(/\n{3,}/g, '\n\n')
      .replace(/^\n+/, '')
      .trimEnd()
  );
}
