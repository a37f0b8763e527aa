import { TextBlocks } from './text-blocks.ts';

export interface PageNode {
  readonly nodeType: number;
  readonly localName?: string;
  readonly data?: string;
  readonly firstChild: PageNode | null;
  readonly nextSibling: PageNode | null;
  readonly parentNode: PageNode | null;
  hasAttribute?(name: string): boolean;
  querySelector?(selector: string): unknown;
}

const elementType = 1;
const textTypes: ReadonlySet<number> = new Set([3, 4]);

const withoutText: ReadonlySet<string> = new Set(
  'audio canvas embed head iframe math noscript object script style svg template title video'.split(' '),
);
const blocks: ReadonlySet<string> = new Set(
  (
    'address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure ' +
    'footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol optgroup option p pre search section ' +
    'summary table tbody tfoot thead ul'
  ).split(' '),
);
/** A table with one of these is for layout, not for data. */
const inLayout = 'table, h1, h2, h3, h4, ul, ol, form, article, section';

/**
 * The text of a page or a part of it, and the depth of its elements. Blocks are separated by blank lines, and the rows
 * of tables are lines.
 */
export function textOfPage(root: PageNode): { readonly text: string; readonly depth: number } {
  const page = new PageText();
  // Without recursion: pages may be nested deeper than the stack.
  let node: PageNode = root;
  let depth = 0;
  let greatestDepth = 0;
  for (;;) {
    const child = page.enter(node) ? node.firstChild : null;
    if (child) {
      node = child;
      depth += 1;
      greatestDepth = Math.max(depth, greatestDepth);
      continue;
    }
    page.leave(node);
    while (node !== root && !node.nextSibling) {
      node = node.parentNode ?? root;
      depth -= 1;
      page.leave(node);
    }
    if (node === root) return { text: page.toString(), depth: greatestDepth };
    node = node.nextSibling ?? root;
  }
}

class PageText {
  readonly #text = new TextBlocks();
  readonly #dataTables = new Set<PageNode>();
  #preformatted = 0;
  #cells = 0;
  /** Whether a list item has begun but has no text yet: its first block may begin later. */
  #isItem = false;

  /** Returns whether to visit the children. */
  enter(node: PageNode): boolean {
    if (textTypes.has(node.nodeType)) this.#add(node.data ?? '');
    if (node.nodeType !== elementType) return false;
    const name = node.localName ?? '';
    if (withoutText.has(name) || node.hasAttribute?.('hidden') === true) return false;
    if (name === 'br') this.#breakLine();
    if (blocks.has(name)) this.#endBlock();
    if (name === 'pre' || name === 'textarea') this.#preformatted += 1;
    if (name === 'li') this.#isItem = true;
    if (name === 'table' && !node.querySelector?.(inLayout)) this.#dataTables.add(node);
    if (isCell(name)) this.#enterCell();
    return true;
  }

  leave(node: PageNode): void {
    const name = node.localName ?? '';
    if (node.nodeType !== elementType || withoutText.has(name) || node.hasAttribute?.('hidden') === true)
      return;
    if (isCell(name)) this.#leaveCell();
    if (name === 'tr') this.#leaveRow();
    if (name === 'pre' || name === 'textarea') this.#preformatted -= 1;
    if (blocks.has(name)) this.#endBlock();
    this.#dataTables.delete(node);
  }

  toString(): string {
    return this.#text.toString();
  }

  #add(text: string): void {
    if (this.#isItem && text.trim() !== '') {
      if (this.#cells === 0) this.#text.add('- ');
      this.#isItem = false;
    }
    this.#text.add(text, this.#preformatted > 0 && this.#cells === 0);
  }

  #enterCell(): void {
    if (this.#dataTables.size === 0) return this.#text.endBlock();
    if (!this.#text.isAtStartOfLine) this.#text.add(' | ');
    this.#cells += 1;
  }

  #leaveCell(): void {
    if (this.#cells > 0) this.#cells -= 1;
    else this.#text.endBlock();
  }

  #leaveRow(): void {
    if (this.#dataTables.size > 0) this.#text.breakLine();
    else this.#text.endBlock();
  }

  /** Within a cell of a data table, nothing ends the line. */
  #endBlock(): void {
    if (this.#cells === 0) this.#text.endBlock();
    else this.#text.add(' ');
  }

  #breakLine(): void {
    if (this.#cells === 0) this.#text.breakLine();
    else this.#text.add(' ');
  }
}

function isCell(name: string): boolean {
  return name === 'td' || name === 'th';
}
