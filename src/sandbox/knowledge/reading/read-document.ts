import { type DocumentType, checkFirstBytes } from './document-types.ts';
import { UnreadableDocument, maxBytes, maxCharacters } from '../document-problem.ts';

/** A document as it was uploaded, or a page as it was found. */
export interface Material {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: DocumentType;
}

type Reader = (bytes: Uint8Array<ArrayBuffer>) => string | Promise<string>;

/** A reader is loaded only for documents of its type. */
const readers: Readonly<Record<DocumentType, () => Promise<Reader>>> = {
  text: async () => (await import('./decoding.ts')).decodeText,
  markdown: async () => (await import('./markdown.ts')).readMarkdown,
  html: async () => (await import('./html.ts')).readHtml,
  pdf: async () => (await import('./pdf.ts')).readPdf,
  docx: async () => (await import('./docx.ts')).readDocx,
};

/**
 * The text of a document: paragraphs, headings and rows are separated by blank lines or line breaks. A document is whatever a
 * stranger has made, and the parsers block the thread and take memory: only a processing thread calls this.
 *
 * @throws UnreadableDocument, ConfigError `package_missing`, and whatever a parser throws at a broken document
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

/** With uniform line breaks, without blanks at the ends of lines, and at most one blank line in a row. */
function tidied(text: string): string {
  return (
    text
      .toWellFormed()
      .replace(/\r\n?/g, '\n')
      // Looking back makes it take one pass: a run of blanks would be tried from each of them.
      .replace(/(?<![^\S\n])[^\S\n]+$/gm, '')
      .replace(/\n{3,}/g, '\n\n')
      .replace(/^\n+/, '')
      .trimEnd()
  );
}
