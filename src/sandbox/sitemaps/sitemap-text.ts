import { setImmediate } from 'node:timers/promises';
import { decodeEntities } from './entities.ts';

/** What a sitemap lists: pages or, in an index, further sitemaps. */
export interface SitemapText {
  readonly kind: 'pages' | 'sitemaps';
  /** The addresses as they are written, in their order. */
  readonly locations: readonly string[];
}

/** A tag, including its prefix; or text between two tags. In `literal` text (CDATA), entities are not replaced. */
type Piece =
  | { readonly kind: 'open' | 'close'; readonly name: string }
  | { readonly kind: 'text' | 'literal'; readonly text: string };

const tag = ['<', '>'] as const;

/** How markup that is neither a tag nor text begins and ends. */
const others = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
  ['<!', '>'],
] as const;

/** After this many pieces, other work gets its turn: deliveries may be due, and receivers' latencies are measured. */
const piecesAtOnce = 10_000;

const roots = new Map<string, SitemapText['kind']>([
  ['urlset', 'pages'],
  ['sitemapindex', 'sitemaps'],
]);

/**
 * Reads a sitemap or an index of sitemaps (the sitemaps protocol); undefined when the document is neither. It is
 * lenient: a document that breaks off lists what came before. It is not an XML parser, and nothing that a document
 * declares is resolved: no DTD, and no entities except XML's own five.
 */
export async function readSitemap(document: string): Promise<SitemapText | undefined> {
  let kind: SitemapText['kind'] | undefined;
  let location = '';
  let locationTag: string | undefined;
  let isInLocation = false;
  let pieces = 0;
  const locations: string[] = [];
  for (const piece of piecesOf(document)) {
    pieces += 1;
    if (pieces % piecesAtOnce === 0) await setImmediate();
    if ('text' in piece) {
      if (isInLocation) location += piece.kind === 'text' ? decodeEntities(piece.text) : piece.text;
    } else if (kind === undefined) {
      kind = piece.kind === 'open' ? roots.get(localName(piece.name)) : undefined;
      if (kind === undefined) return undefined;
      // Images and videos of a page have their own `loc`, with the prefix of their extension.
      locationTag = `${piece.name.slice(0, -localName(piece.name).length)}loc`;
    } else if (piece.name === locationTag) {
      isInLocation = piece.kind === 'open';
      if (!isInLocation && location.trim() !== '') locations.push(location.trim());
      location = '';
    }
  }
  return kind && { kind, locations };
}

/** Splits a document into pieces in a single pass, whatever it contains. */
function* piecesOf(document: string): Generator<Piece> {
  for (let at = 0; ;) {
    const open = document.indexOf('<', at);
    if (open === -1) {
      yield { kind: 'text', text: document.slice(at) };
      return;
    }
    if (open > at) yield { kind: 'text', text: document.slice(at, open) };
    const [start, end] = delimitersAt(document, open);
    const close = document.indexOf(end, open + start.length);
    if (close === -1) return;
    const inner = document.slice(open + start.length, close);
    if (start === '<![CDATA[') yield { kind: 'literal', text: inner };
    else if (start === '<') yield tagOf(inner);
    at = close + end.length;
  }
}

function delimitersAt(document: string, open: number): readonly [string, string] {
  const mark = document[open + 1];
  const isTag = mark !== '!' && mark !== '?';
  return (isTag ? undefined : others.find(([start]) => document.startsWith(start, open))) ?? tag;
}

function tagOf(inner: string): Piece {
  const isClosing = inner.startsWith('/');
  const name = /^[^\s/]*/.exec(isClosing ? inner.slice(1) : inner)?.[0].toLowerCase() ?? '';
  return { kind: isClosing ? 'close' : 'open', name };
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}
