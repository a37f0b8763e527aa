/** The pages are written for a repository: here its links and headings get the addresses that the website has for them. */
import type { MarkdownRenderer } from 'vitepress';

type CoreRule = Parameters<MarkdownRenderer['core']['ruler']['push']>[1];

/** The anchor of a heading, as repositories on the web make it: the pages link to those. */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}

/** Where a page of the repository is on the website. */
export function addressOf(file: string): string {
  return file.replace(/(^|\/)README\.md$/, '$1index.md').replace(/^site\//, '');
}

/** A folder is opened with its README in a repository, and with its index on a website. */
export const linkToIndex: CoreRule = ({ tokens }) => {
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const href = token.type === 'link_open' ? token.attrGet('href') : null;
    if (href !== null) token.attrSet('href', href.replace(/(^|\/)README\.md/, '$1index.md'));
  }
};
