/** Reads the pages that a client submits to a knowledge base. */
import type { IncomingMessage } from 'node:http';
import { readBounded } from '../../kit/http-bodies.ts';
import { type FinalAnswer, WebsiteProblem, follow } from '../websites/website.ts';
import { DocumentFailure } from './document-problem.ts';
import { documentTypeOf } from './reading/document-types.ts';
import type { Material } from './reading/read-document.ts';

/** The most bytes of one page, and of all pages together. */
const maxPageBytes = 10 * 1024 * 1024;
const maxBytes = 50 * 1024 * 1024;

/** Sends a GET to an address that the sandbox may visit, and resolves once the answer begins. */
export type GetPage = (url: URL, signal: AbortSignal) => Promise<IncomingMessage>;

/** Reads all pages. An unreadable one fails the document, so that nobody searches half of a submission. */
export async function crawl(
  urls: readonly string[],
  get: GetPage,
  signal: AbortSignal,
): Promise<readonly Material[]> {
  const pages: Material[] = [];
  let size = 0;
  for (const url of urls) {
    const page = await pageAt(new URL(url), get, signal);
    size += page.bytes.byteLength;
    if (size > maxBytes) throw problem('too_large', 'The pages have more than 50 MB');
    pages.push(page);
  }
  return pages;
}

async function pageAt(url: URL, get: GetPage, signal: AbortSignal): Promise<Material> {
  const found = await follow(
    url,
    (address) => answerAt(address, get, signal),
    ({ host }) => host === url.host,
  );
  if (found === 'elsewhere')
    throw problem('redirected_away', `The page ${shown(url)} redirects to another host`);
  if (found === 'too_often') throw problem('redirected_away', `The page ${shown(url)} redirects too often`);
  return materialIn(found, signal);
}

async function answerAt(url: URL, get: GetPage, signal: AbortSignal): Promise<IncomingMessage> {
  try {
    return await get(url, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof WebsiteProblem && error.kind === 'not_allowed') {
      throw problem('not_allowed', `The page ${shown(url)} is not on a host that the sandbox may look at`);
    }
    throw problem('unreachable', `The page ${shown(url)} does not answer`);
  }
}

async function materialIn({ answer, address }: FinalAnswer, signal: AbortSignal): Promise<Material> {
  const { statusCode = 0, headers } = answer;
  const type = documentTypeOf({ name: address.pathname, contentType: headers['content-type'] });
  if (statusCode !== 200 || !type) answer.destroy();
  if (statusCode !== 200) throw problem('refused', `The page ${shown(address)} answers with ${statusCode}`);
  if (!type)
    throw problem('unsupported_type', `The page ${shown(address)} is not text, Markdown, HTML, PDF or DOCX`);
  const bytes = await readBounded(answer, maxPageBytes).catch(() => {
    signal.throwIfAborted();
    throw problem('unreachable', `The answer of the page ${shown(address)} broke off`);
  });
  if (!bytes) throw problem('too_large', `The page ${shown(address)} has more than 10 MB`);
  return { bytes: new Uint8Array(bytes), type };
}

function problem(code: string, message: string): DocumentFailure {
  return new DocumentFailure({ code, message });
}

function shown({ origin, pathname }: URL): string {
  return origin + pathname;
}
