/** Reads the pages that a client has chosen for a knowledge base. */
import type { IncomingMessage } from 'node:http';
import { readBounded } from '../../kit/http-bodies.ts';
import { WebsiteProblem } from '../sitemaps/website.ts';
import { DocumentFailure } from './document-problem.ts';
import { documentTypeOf } from './reading/document-types.ts';
import type { Material } from './reading/read-document.ts';

/** The most bytes of one page, and of all pages together. */
const maxPageBytes = 10 * 1024 * 1024;
const maxBytes = 50 * 1024 * 1024;
const maxRedirects = 3;

/** Sends a GET to an address that the sandbox may look at, and resolves once the answer begins. */
export type GetPage = (url: URL, signal: AbortSignal) => Promise<IncomingMessage>;

/**
 * All pages, in their order: a page that can't be read fails the document, so that nobody searches half of what was submitted.
 *
 * @throws DocumentFailure; the signal's reason
 */
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
  let address = url;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const answer = await answerAt(address, get, signal);
    const target = targetOf(answer, address);
    if (!target) return materialIn(answer, address, signal);
    answer.destroy();
    // Whoever publishes a page may not send the sandbox to other websites.
    if (target.host !== url.host)
      throw problem('redirected_away', `The page ${shown(url)} leads to another host`);
    address = target;
  }
  throw problem('redirected_away', `The page ${shown(url)} redirects more than ${maxRedirects} times`);
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

/** Where a redirect leads; null for an answer that is none. */
function targetOf({ statusCode = 0, headers }: IncomingMessage, address: URL): URL | null {
  const isRedirect = statusCode >= 300 && statusCode < 400;
  return isRedirect ? URL.parse(headers.location ?? '', address.href) : null;
}

async function materialIn(answer: IncomingMessage, address: URL, signal: AbortSignal): Promise<Material> {
  const { statusCode = 0, headers } = answer;
  const type = documentTypeOf({ name: address.pathname, contentType: headers['content-type'] });
  if (statusCode !== 200 || !type) answer.destroy();
  if (statusCode !== 200) throw problem('refused', `The page ${shown(address)} answers with ${statusCode}`);
  if (!type)
    throw problem(
      'unsupported_type',
      `The page ${shown(address)} is neither text, Markdown, HTML, PDF nor DOCX`,
    );
  const bytes = await readBounded(answer, maxPageBytes).catch(() => {
    signal.throwIfAborted();
    throw problem('unreachable', `The page ${shown(address)} breaks off`);
  });
  if (!bytes) throw problem('too_large', `The page ${shown(address)} has more than 10 MB`);
  return { bytes: new Uint8Array(bytes), type };
}

function problem(code: string, message: string): DocumentFailure {
  return new DocumentFailure({ code, message });
}

/** The address without what may be secret in it. */
function shown({ origin, pathname }: URL): string {
  return origin + pathname;
}
