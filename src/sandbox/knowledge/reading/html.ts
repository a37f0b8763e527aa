import { importOptional } from '../../../errors/optional-package.ts';
import { decodeHtml } from './decoding.ts';
import { type PageNode, textOfPage } from './page-text.ts';
import { maxDepth, maxElements } from '../document-problem.ts';

interface PageDocument {
  readonly documentElement: PageNode;
  querySelector(selector: string): { readonly textContent: string | null } | null;
}

/**
 * The title of a page, and the text of its main content, without menus and the like; all of its text if no main content
 * is found.
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
  // Last, because Readability changes the document.
  const findContent = () => new Readability<PageNode>(document, options).parse()?.content;
  const text = (whole.depth <= maxDepth ? mainTextOf(findContent) : undefined) ?? whole.text;
  const startsWithTitle = text === title || text.startsWith(`${title}\n`);
  return title === '' || startsWithTitle ? text : `${title}\n\n${text}`;
}

const options = { maxElemsToParse: maxElements, serializer: (node: unknown) => node as PageNode };

/** Undefined if there is no main content, or the page is too large for the search. */
function mainTextOf(findContent: () => PageNode | null | undefined): string | undefined {
  try {
    const content = findContent();
    const text = content ? textOfPage(content).text : '';
    return text === '' ? undefined : text;
  } catch {
    return undefined;
  }
}

/** Puts the page into a body: pages may omit `html`, `head` and `body`, and the parser would lose content. */
function completed(html: string): string {
  return `<!doctype html><html><head></head><body>${html}`;
}

function collapsed(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
