/** Reads the project's documents: their tables, code blocks and links. */
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The text of a document, by its path in the repository. */
export function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** The paths of all documents in the repository. */
export function documents(): string[] {
  const nested = ['docs', 'examples', 'bench'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  return [...readdirSync(root), ...nested].filter((path) => path.endsWith('.md'));
}

/**
 * The rows of each table whose first heading cells are these.
 *
 * @throws when there is no such table, so that renaming a column can't make a test pass on nothing
 */
export function tables(path: string, ...headings: readonly string[]): string[][][] {
  const lines = read(path).split('\n');
  const found = lines.flatMap((line, index) => {
    const isHead = line.startsWith('|') && lines[index + 1]?.startsWith('|---');
    if (!isHead || !headings.every((heading, column) => cellsOf(line)[column] === heading)) return [];
    const rest = lines.slice(index + 2);
    const length = rest.findIndex((row) => !row.startsWith('|'));
    return [rest.slice(0, length === -1 ? undefined : length).map(cellsOf)];
  });
  if (found.length === 0) throw new Error(`${path} has no table headed ${headings.join(', ')}`);
  return found;
}

/** The rows of the one table whose first heading cells are these. */
export function tableRows(path: string, ...headings: readonly string[]): string[][] {
  const [first = [], ...others] = tables(path, ...headings);
  if (others.length > 0) throw new Error(`${path} has several tables headed ${headings.join(', ')}`);
  return first;
}

function cellsOf(line: string): string[] {
  return line
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim());
}

/** A cell whose whole text is between backquotes, without them; undefined when it is prose. */
export function literal(cell: string | undefined): string | undefined {
  return /^`([^`]+)`$/.exec(cell ?? '')?.[1];
}

/** The code blocks of a document in one language. */
export function codeBlocks(path: string, language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return [...read(path).matchAll(fence)].map(([, code = '']) => code);
}

/** A relative link in a document: the file it leads to, and the heading in it, if any. */
export interface Link {
  readonly from: string;
  readonly target: string;
  readonly heading: string | undefined;
}

/** The relative links of a document. */
export function links(from: string): Link[] {
  const prose = read(from).replaceAll(/^```[\s\S]*?^```$/gm, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .map((link) => {
      const [path = '', heading] = link.split('#', 2);
      return { from, target: path === '' ? from : join(dirname(from), path), heading };
    });
}

/** The anchors of a document's headings, as links name them. */
export function anchors(path: string): string[] {
  return [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
