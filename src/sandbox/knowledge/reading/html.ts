import { importOptional } from '../../../errors/optional-package.ts';
import { decodeHtml } from './decoding.ts';
import { type PageNode, textOfPage } from './page-text.ts';
import { maxDepth, maxElements } from '../document-problem.ts';

/** What is used of a page's document. */
interface PageDocument {
  readonly documentElement: PageNode;
  querySelector(selector: string): { readonly textContent: string | null } | null;
}

/**
 * The title of a page, and the text of its main content: without menus and the like. Where that can't be found, all of
 * its text.
 *
 * @throws UnreadableDocument `broken`
 * @throws ConfigError `package_missing`
 */
export async function readHtml(bytes: Uint8Array): Promise<string> {
  const purpose = 'reading HTML documents';
  const { parseHTML } = await importOptional('linkedom', purpose, () => import('linkedom'));
  const { Readability } = await importOptional(
    '@mozilla/readability',
    purpose,
    () => import('@mozilla/readability'),
  );
  const { document } = parseHTML(completed(decodeHtml(bytes)));
  const page = document as PageDocument;
  const title = collapsed(page.querySelector('title')?.textContent ?? '');
  const whole = textOfPage(page.documentElement);
  // Looking for the main content changes the document, so that it comes last.
  const findContent = () => new Readability<PageNode>(document, options).parse()?.content;
  const text = (whole.depth <= maxDepth ? mainTextOf(findContent) : undefined) ?? whole.text;
  const startsWithTitle = text === title || text.startsWith(`${title}\n`);
  return title === '' || startsWithTitle ? text : `${title}\n\n${text}`;
}

const options = { maxElemsToParse: maxElements, serializer: (node: unknown) => node as PageNode };

/** Undefined when there is none, or the page is too large for it to be looked for. */
function mainTextOf(findContent: () => PageNode | null | undefined): string | undefined {
  try {
    const content = findContent();
    const text = content ? textOfPage(content).text : '';
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}

/**
 * The parser adds no `html`, `head` or `body` that a page leaves out, as pages may: without them it loses what they would hold.
 * So that all of them are there, the whole page lies in a body.
 */
function completed(html: string): string {
  return `<!doctype html><html><head></head><body>${html}`;
}

function collapsed(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
