/** The files and tests that docs/coverage.md names must exist. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root, tables } from './documents.ts';

const rows = tables('docs/coverage.md', 'the document', 'client', 'sandbox', 'shown by').flat();

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

describe('what of the document is built', () => {
  it('has rows, and each names a test or says why there is none', () => {
    expect(rows.length).toBeGreaterThan(40);
    const without = rows.filter(
      (row) => testsOf(row[3] ?? '').length === 0 && !row[3]?.startsWith('not shown'),
    );
    expect(without).toEqual([]);
  });

  it('names tests that there are', () => {
    const missing = rows.flatMap((row) =>
      testsOf(row[3] ?? '').flatMap(({ file, titles }) => {
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
    const missing = rows.flatMap((row) =>
      (['platform', 'sandbox'] as const).flatMap((part, index) =>
        [...(row[index + 1] ?? '').matchAll(/`([\w/-]+(?:\.ts|\/))`/g)]
          .map(([, file = '']) => `src/${part}/${file}`)
          .filter((file) => !existsSync(join(root, file))),
      ),
    );
    expect(missing).toEqual([]);
  });
});
