/**
 * Reads documents into plain text, each on a thread of its own: a document is whatever a stranger has made, and must not
 * block the sandbox, nor fill its memory.
 */
import { type Clock, systemClock } from '../../../kit/clock.ts';
import { ConfigError } from '../../../errors/errors.ts';
import { type DocumentType, checkFirstBytes } from './document-types.ts';
import { ReadingThread } from './reading-thread.ts';
import { UnreadableDocument, maxBytes, timeout } from './unreadable-document.ts';

export { type DocumentType, documentTypeOf, documentTypes } from './document-types.ts';
export { UnreadableDocument } from './unreadable-document.ts';

/** A document as it was uploaded, or found at an address. */
interface Document {
  readonly bytes: Uint8Array;
  readonly type: DocumentType;
  /** Where a page was found. Nothing of it gets into the text. */
  readonly address?: string;
}

/**
 * The text of a document: paragraphs, headings and rows are separated by blank lines or line breaks.
 *
 * @param options.signal Ends the reading; then it rejects with the signal's reason.
 * @throws UnreadableDocument
 * @throws ConfigError `package_missing`
 */
export async function readDocument(
  { bytes, type }: Document,
  { signal, clock = systemClock }: { readonly signal?: AbortSignal; readonly clock?: Clock },
): Promise<string> {
  signal?.throwIfAborted();
  if (bytes.byteLength === 0) throw new UnreadableDocument('empty');
  if (bytes.byteLength > maxBytes) throw new UnreadableDocument('too_large');
  checkFirstBytes(bytes, type);
  const thread = new ReadingThread({ bytes: new Uint8Array(bytes), type }, clock);
  const cancelTimeout = clock.after(timeout, () => thread.giveUp(new UnreadableDocument('too_slow')));
  const abort = (): void => thread.giveUp(signal?.reason);
  signal?.addEventListener('abort', abort);
  try {
    return textOf(await thread.answer);
  } finally {
    cancelTimeout();
    signal?.removeEventListener('abort', abort);
    // Until the thread has ended, it takes memory that the next document may need.
    await thread.end();
  }
}

function textOf(answer: Awaited<ReadingThread['answer']>): string {
  if ('text' in answer) return answer.text;
  if ('unreadable' in answer) throw new UnreadableDocument(answer.unreadable, { cause: answer.cause });
  throw new ConfigError(answer.misconfigured, answer.message);
}
