import { UnreadableDocument } from '../document-problem.ts';

export type DocumentType = 'text' | 'markdown' | 'html' | 'pdf' | 'docx';

const contentTypes: ReadonlyMap<string, DocumentType> = new Map([
  ['text/plain', 'text'],
  ['text/markdown', 'markdown'],
  ['text/x-markdown', 'markdown'],
  ['text/html', 'html'],
  ['application/xhtml+xml', 'html'],
  ['application/pdf', 'pdf'],
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
]);

/** Content types that say nothing, which clients send by default. */
const unspecific: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'binary/octet-stream']);

const endings: ReadonlyMap<string, DocumentType> = new Map([
  ['txt', 'text'],
  ['text', 'text'],
  ['md', 'markdown'],
  ['markdown', 'markdown'],
  ['html', 'html'],
  ['htm', 'html'],
  ['xhtml', 'html'],
  ['pdf', 'pdf'],
  ['docx', 'docx'],
]);

/**
 * The type of a document by its content type, else by its extension; undefined for others. Few clients know Markdown's
 * content type: for `text/plain`, the extension counts.
 */
export function documentTypeOf(document: {
  readonly name: string;
  readonly contentType: string | undefined;
}): DocumentType | undefined {
  const contentType = (document.contentType ?? '').split(';', 1).join('').trim().toLowerCase();
  const byName = endings.get(/\.([^./\\]+)$/.exec(document.name)?.[1]?.toLowerCase() ?? '');
  if (unspecific.has(contentType)) return byName;
  const type = contentTypes.get(contentType);
  return type === 'text' && byName === 'markdown' ? byName : type;
}

/** How far into a file the signature of a PDF may be: many have something before it, and readers accept that. */
const maxBeforePdf = 1_024;

const startOfZip = Buffer.from('PK\u0003\u0004', 'latin1');
/** Older and password-protected Office documents begin like this. */
const startOfCompoundFile = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const encryptedPackage = Buffer.from('EncryptedPackage', 'utf16le');

/** @throws UnreadableDocument `broken`, or `encrypted` for a Word document with a password */
export function checkFirstBytes(bytes: Uint8Array, type: DocumentType): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (type === 'docx' && startsWith(buffer, startOfCompoundFile) && buffer.includes(encryptedPackage)) {
    throw new UnreadableDocument('encrypted');
  }
  if (!hasFirstBytes(buffer, type)) throw new UnreadableDocument('broken');
}

function hasFirstBytes(buffer: Buffer, type: DocumentType): boolean {
  if (type === 'pdf') return buffer.subarray(0, maxBeforePdf).includes('%PDF-');
  if (type === 'docx') return startsWith(buffer, startOfZip);
  return !startsWith(buffer, startOfZip) && !startsWith(buffer, Buffer.from('%PDF-'));
}

function startsWith(buffer: Buffer, start: Buffer): boolean {
  return buffer.subarray(0, start.length).equals(start);
}
