import { importOptional } from '../../../errors/optional-package.ts';
import { UnreadableDocument, maxCharacters } from '../document-problem.ts';

/** The distance of two lines from which a new paragraph begins, in heights of the text. */
const paragraphDistance = 1.7;

interface TextItem {
  readonly str: string;
  /** The last two numbers are its position on the page. */
  readonly transform: readonly number[];
  readonly height: number;
  readonly hasEOL: boolean;
}

/**
 * The text of all pages of a PDF. Text in images isn't read.
 *
 * @throws UnreadableDocument `encrypted`, `too_large`
 * @throws ConfigError `package_missing`
 */
export async function readPdf(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const { getDocumentProxy } = await importOptional('unpdf', 'reading PDF documents', () => import('unpdf'));
  const pdf = await getDocumentProxy(bytes, { verbosity: 0 }).catch(refuse);
  const pages: string[] = [];
  let characters = 0;
  for (let number = 1; number <= pdf.numPages; number += 1) {
    const page = await pdf.getPage(number);
    const { items } = await page.getTextContent();
    const text = textOfPage(items.filter((item) => 'str' in item));
    page.cleanup();
    characters += text.length;
    if (characters > maxCharacters) throw new UnreadableDocument('too_large');
    pages.push(text);
  }
  return pages.join('\n\n');
}

function refuse(error: unknown): never {
  if (error instanceof Error && error.name === 'PasswordException') {
    throw new UnreadableDocument('encrypted', { cause: error });
  }
  throw error;
}

function textOfPage(items: readonly TextItem[]): string {
  let text = '';
  let last: TextItem | undefined;
  let endsLine = false;
  for (const item of items) {
    if (item.str !== '') {
      if (endsLine) text += last && isParagraphBetween(last, item) ? '\n\n' : '\n';
      text += item.str;
      endsLine = false;
      if (item.str.trim() !== '') last = item;
    }
    endsLine ||= item.hasEOL;
  }
  return text;
}

/** Text that continues further up is in another column, or another part of the page. */
function isParagraphBetween(above: TextItem, below: TextItem): boolean {
  const distance = (above.transform[5] ?? 0) - (below.transform[5] ?? 0);
  return distance < 0 || distance > paragraphDistance * Math.max(above.height, below.height);
}
