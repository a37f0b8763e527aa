/** Documents of all kinds, good and bad, whose fate is known: each has a word of its own by which it is found. */
import { createHash } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { bytesOf, docxFiles, encryptedPdf, paragraph, pdfOf, zipOf } from './document-files.ts';

/** What is submitted: a file, or the addresses of pages. */
export type Submitted =
  | { readonly name: string; readonly type: string; readonly content: string | Uint8Array<ArrayBuffer> }
  | { readonly urls: readonly string[] };

export interface MixedDocument {
  readonly kind: string;
  /** In each of its chunks, and in no other document. */
  readonly word: string;
  /** What becomes of it: `completed`, or the code with which it fails. */
  readonly fate: string;
  /** The name that the sandbox gives it. */
  readonly name: string;
  readonly submitted: Submitted;
}

/** In the scripts of pages: no chunk may have it. */
export const scripted = 'neverwritten';

/** A setting with which each paragraph of a document is a chunk of its own. */
export const oneChunkEach = { chunking_strategy: 'paragraph', chunk_size: 80, chunk_overlap: 0 };

/** The word of the document with that number. */
export function wordOf(number: number): string {
  const digest = createHash('sha256').update(`document ${number}`).digest();
  return Array.from(digest.subarray(0, 14), (byte) => String.fromCharCode(97 + (byte % 26))).join('');
}

interface Text {
  readonly title: string;
  readonly paragraphs: readonly string[];
}

type Maker = (
  word: string,
  text: Text,
  site: string,
) => { readonly fate: string; readonly submitted: Submitted };

const completed = (name: string, type: string, content: string | Buffer) => ({
  fate: 'completed',
  submitted: { name, type, content: bytesOf(content) },
});
const failing = (fate: string, name: string, type: string, content: string | Buffer) => ({
  fate,
  submitted: { name, type, content: bytesOf(content) },
});

const good: Readonly<Record<string, Maker>> = {
  text: (word, { title, paragraphs }) =>
    completed(`${word}.txt`, 'text/plain', [title, ...paragraphs].join('\n\n')),
  markdown: (word, { title, paragraphs }) =>
    completed(`${word}.md`, 'text/markdown', [`# ${title}`, ...paragraphs].join('\n\n')),
  html: (word, text) => completed(`${word}.html`, 'text/html', pageOf(text)),
  pdf: (word, { title, paragraphs }) =>
    completed(`${word}.pdf`, 'application/pdf', pdfOf([title, ''], ...paragraphs.map(linesOf))),
  docx: (word, { title, paragraphs }) =>
    completed(`${word}.docx`, '', zipOf(docxFiles([title, ...paragraphs].map(paragraph).join('')))),
  pages: (word, { paragraphs }, site) => ({
    fate: 'completed',
    submitted: { urls: paragraphs.map((_, index) => `${site}/pages/${word}/${index}`) },
  }),
};

const bad: Readonly<Record<string, Maker>> = {
  'broken PDF': (word) => failing('broken', `${word}.pdf`, 'application/pdf', '%PDF-1.7\n1 0 obj\n<< /Type'),
  empty: (word) => failing('empty', `${word}.txt`, 'text/plain', ''),
  'wrong type': (word, { title }) => failing('unsupported_type', `${word}.png`, 'image/png', title),
  'zip bomb as DOCX': (word) => failing('too_large', `${word}.docx`, '', zipBomb()),
  'PDF with a password': (word) => failing('encrypted', `${word}.pdf`, 'application/pdf', encryptedPdf()),
  'page with status 500': (word, _text, site) => ({
    fate: 'refused',
    submitted: { urls: [`${site}/pages/${word}/0`, `${site}/broken/${word}`] },
  }),
  'redirect off the host': (word, _text, site) => ({
    fate: 'redirected_away',
    submitted: { urls: [`${site}/away/${word}`] },
  }),
};

/** Of twenty documents, so many are of each kind; the others are bad ones. */
const shares = { text: 4, markdown: 3, html: 3, pdf: 2, docx: 2, pages: 2 };
const goodOnes = Object.entries(shares).flatMap(([kind, share]) => Array<string>(share).fill(kind));
const block = 20;

/** The document with that number, the same each time. The pages are at `site`, which answers as `answerPages` does. */
export function mixedDocument(number: number, site: string): MixedDocument {
  const word = wordOf(number);
  // Seven has no divisor in common with twenty: each kind has its turn, in another order than that of the kinds.
  const place = (number * 7) % block;
  const bads = Object.keys(bad);
  const badsBefore = Math.floor(number / block) * (block - goodOnes.length) + place - goodOnes.length;
  const kind = goodOnes[place] ?? bads[badsBefore % bads.length] ?? '';
  const make = good[kind] ?? bad[kind];
  if (!make) throw new Error(`no document is of the kind ${kind}`);
  const made = make(word, textOf(word, number), site);
  const name = 'urls' in made.submitted ? (made.submitted.urls[0] ?? '') : made.submitted.name;
  return { kind, word, name, ...made };
}

/** Answers for the website of these documents. */
export const answerPages: RequestListener = ({ url = '' }, response) => {
  const [, folder, word = '', page] = url.split('/');
  if (folder === 'pages') {
    const text = { title: `Page ${page} on ${word}`, paragraphs: [paragraphOf(word, Number(page))] };
    response.writeHead(200, { 'content-type': 'text/html' }).end(pageOf(text));
  } else if (folder === 'away') response.writeHead(302, { location: 'http://example.com/' }).end();
  else response.writeHead(folder === 'broken' ? 500 : 404).end();
};

function textOf(word: string, number: number): Text {
  const paragraphs = Array.from({ length: 1 + (number % 4) }, (_, index) =>
    paragraphOf(word, number + index),
  );
  return { title: `About ${word}`, paragraphs };
}

const vocabulary =
  'table garden window harbour letter winter bridge market station engine copper meadow signal paper river lantern'.split(
    ' ',
  );

/** The word stands in it twice, among few others: without a model, a search compares hashes, and much text hides a single one. */
function paragraphOf(word: string, start: number): string {
  const words = Array.from({ length: 8 }, (_, index) => vocabulary[(start * 5 + index) % vocabulary.length]);
  return `The ${words.slice(0, 4).join(' ')} of ${word} is a ${words.slice(4).join(' ')}, says ${word}.`;
}

/** A page with scripts before, in and after its text. */
function pageOf({ title, paragraphs }: Text): string {
  const script = `<script>document.write('<p>${scripted}</p>')</script>`;
  const body = paragraphs.map((text) => `<p onclick="${scripted}()">${text}</p>`).join(script);
  return `<!doctype html><html><head><title>${title}</title>${script}</head><body><nav><a href="/">Home</a></nav><main>${body}</main>${script}</body></html>`;
}

/** Lines as they fit on a page, with room after them. */
function linesOf(text: string): readonly string[] {
  return [...(text.match(/.{1,60}(?: |$)/g) ?? []), ''];
}

let bomb: Buffer | undefined;

/** A Word document of some kilobytes that unpacks to more than a document may have. */
function zipBomb(): Buffer {
  bomb ??= zipOf(docxFiles(' '.repeat(51 * 1024 * 1024)));
  return bomb;
}
