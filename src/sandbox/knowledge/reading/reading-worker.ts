/** The reading thread: it reads one document, answers with its text or why there is none, and ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from '../../../errors/errors.ts';
import { messageOf } from '../../../kit/error-text.ts';
import type { DocumentType } from './document-types.ts';
import type { ReadingMessage, ReadingThreadData } from './reading-thread.ts';
import { UnreadableDocument, maxCharacters } from './unreadable-document.ts';

type Reader = (bytes: Uint8Array<ArrayBuffer>) => string | Promise<string>;

/** A reader is loaded only for documents of its type. */
const readers: Readonly<Record<DocumentType, () => Promise<Reader>>> = {
  text: async () => (await import('./decoding.ts')).decodeText,
  markdown: async () => (await import('./markdown.ts')).readMarkdown,
  html: async () => (await import('./html.ts')).readHtml,
  pdf: async () => (await import('./pdf.ts')).readPdf,
  docx: async () => (await import('./docx.ts')).readDocx,
};

const { bytes, type } = workerData as ReadingThreadData;
// What a library throws outside of what it was called for is due to the document too.
process.on('uncaughtException', (error) => reply({ unreadable: 'broken', cause: messageOf(error) }));
reply(await answer());

function reply(message: ReadingMessage): void {
  parentPort?.postMessage(message, []);
}

async function answer(): Promise<ReadingMessage> {
  const read = await readers[type]();
  try {
    const text = tidied(await read(bytes));
    if (text === '') throw new UnreadableDocument('empty');
    if (text.length > maxCharacters) throw new UnreadableDocument('too_large');
    return { text };
  } catch (error) {
    if (error instanceof ConfigError) return { misconfigured: error.code, message: error.message };
    const unreadable = error instanceof UnreadableDocument ? error.reason : 'broken';
    return { unreadable, cause: messageOf(error) };
  }
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
