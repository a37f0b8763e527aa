/** docs/coverage.md covers every statement of the platform's document, by files and tests that there are. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { statements } from './document-statements.ts';
import { root, tableRows, tables } from './documents.ts';
import { idsIn, inOrder } from './statement-ids.ts';

const page = 'docs/coverage.md';
const rows = tables(page, 'statements', 'the document', 'client', 'sandbox', 'shown by').flat();
const receiverRows = tableRows(page, 'statements', 'the document', 'receiver', 'shown by');
const allRows = [...rows, ...receiverRows];
/** The last cell of every row. */
const proofs = allRows.map((row) => row.at(-1) ?? '');

/** The tests that a row names: a file, and titles in it. */
function testsOf(shownBy: string): { file: string; titles: string[] }[] {
  return shownBy
    .split(/;\s(?=`)/)
    .map((part) => /^`([\w/-]+)`: (.*)$/.exec(part))
    .filter((match) => match !== null)
    .map(([, file = '', titles = '']) => ({
      file,
      titles: [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => title),
    }));
}

describe('the statements of the document', () => {
  const known = statements.map(([id]) => id);

  it('are numbered without a gap in each section', () => {
    expect(known.length).toBeGreaterThan(230);
    expect(known).toEqual(inOrder(known));
  });

  it('are each said once', () => {
    const words = statements.map(([id, said]) => `${id.replace(/-\d+$/, '')}: ${said}`);
    expect(words.filter((said, index) => words.indexOf(said) !== index)).toEqual([]);
  });

  it('have a row each, and no row has a number that there is not', () => {
    const covered = new Set(allRows.flatMap(([cell]) => idsIn(cell)));
    expect(statements.filter(([id]) => !covered.has(id)).map(([id, said]) => `${id}: ${said}`)).toEqual([]);
    expect([...covered].filter((id) => !known.includes(id))).toEqual([]);
  });
});

describe('what of the document is built', () => {
  it('has rows, and each names a test or says why there is none', () => {
    expect(rows.length).toBeGreaterThan(40);
    const without = proofs.filter((cell) => testsOf(cell).length === 0 && !cell.startsWith('not shown'));
    expect(without).toEqual([]);
  });

  it('names tests that there are', () => {
    const missing = proofs.flatMap((cell) =>
      testsOf(cell).flatMap(({ file, titles }) => {
        const path = join(root, 'test', `${file}.test.ts`);
        const text = existsSync(path) ? readFileSync(path, 'utf8').replaceAll("\\'", "'") : '';
        return titles
          .filter((title) => !text.includes(title))
          .map((title) => `${file}: ${title}`)
          .concat(text === '' ? [file] : []);
      }),
    );
    expect(missing).toEqual([]);
  });

  it('names files that there are', () => {
    const cells = [
      ...rows.flatMap(([, , client, sandbox]) => [
        { folder: 'src/platform', cell: client },
        { folder: 'src/sandbox', cell: sandbox },
      ]),
      ...receiverRows.map(([, , receiver]) => ({ folder: 'src', cell: receiver })),
    ];
    const files = cells.flatMap(({ folder, cell = '' }) =>
      [...cell.matchAll(/`([\w/-]+(?:\.ts|\/))`/g)].map(([, file = '']) => join(folder, file)),
    );
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });
});
