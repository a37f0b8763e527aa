/**
 * Reads a website's robots.txt and sitemaps. Written by hand, because general parsers build the whole tree, or all
 * rules for all robots, before they return: even a hostile document within our bounds would block the event loop for
 * many seconds and fill the memory.
 */
import { setImmediate } from 'node:timers/promises';

/** How much of a robots.txt is read, in characters; RFC 9309 requires at least this. */
const maxRobots = 500 * 1024;

/** The sitemaps that a robots.txt names (RFC 9309, `Sitemap:`), in order. */
export function sitemapsInRobots(text: string): readonly string[] {
  const lines = text.slice(0, maxRobots).split(/\r\n|\r|\n/);
  return lines.flatMap((line) => {
    const [, address] = /^[\t ]*sitemap[\t ]*:[\t ]*([^\t #]+)/i.exec(line) ?? [];
    return address === undefined ? [] : [address];
  });
}

/** What a sitemap lists: pages or, in an index, further sitemaps. */
export interface Sitemap {
  readonly kind: 'pages' | 'sitemaps';
  readonly locations: readonly string[];
}

/** A tag, including its prefix; or text between two tags. In `literal` text (CDATA), entities are not replaced. */
type Piece =
  | { readonly kind: 'open' | 'close'; readonly name: string }
  | { readonly kind: 'text' | 'literal'; readonly text: string };

const tag = ['<', '>'] as const;

const others = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
  ['<!', '>'],
] as const;

/** After this many pieces, the event loop gets a turn: deliveries may be due, and latencies are measured. */
const maxPiecesAtOnce = 10_000;

const roots = new Map<string, Sitemap['kind']>([
  ['urlset', 'pages'],
  ['sitemapindex', 'sitemaps'],
]);

/**
 * Reads a sitemap or an index of sitemaps (the sitemaps protocol); undefined if the document is neither. Lenient: a
 * truncated document lists what came before. No declaration of a document is resolved: no DTD, and no entities except
 * XML's own five.
 */
export async function readSitemap(document: string): Promise<Sitemap | undefined> {
  let kind: Sitemap['kind'] | undefined;
  let location = '';
  let locationTag: string | undefined;
  let isInLocation = false;
  let pieces = 0;
  const locations: string[] = [];
  for (const piece of piecesOf(document)) {
    pieces += 1;
    if (pieces % maxPiecesAtOnce === 0) await setImmediate();
    if ('text' in piece) {
      if (isInLocation) location += piece.kind === 'text' ? decodeEntities(piece.text) : piece.text;
    } else if (kind === undefined) {
      kind = piece.kind === 'open' ? roots.get(localName(piece.name)) : undefined;
      if (kind === undefined) return undefined;
      // Images and videos have their own `loc`, with the prefix of their extension.
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

const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Replaces XML's five entities and character references by their characters; leaves other entities. */
function decodeEntities(text: string): string {
  return text.replace(/&(#\d{1,7}|#x[\da-f]{1,6}|amp|lt|gt|quot|apos);/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return named[name.toLowerCase()] ?? whole;
    const isHexadecimal = name[1] === 'x' || name[1] === 'X';
    const code = isHexadecimal ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code <= 0x10_ff_ff ? String.fromCodePoint(code) : whole;
  });
}
