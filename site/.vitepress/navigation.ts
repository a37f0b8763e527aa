/**
 * The way through the documentation, as the README has it in its table: one row is one group. Behind it comes the reference, by
 * the list of entry points that TypeDoc has made.
 */
import { readFileSync } from 'node:fs';
import type { DefaultTheme } from 'vitepress';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const entryPoints = readFileSync(new URL('../reference/index.md', import.meta.url), 'utf8');

const [, table = ''] = readme.split('\n| to | read |\n|---|---|\n');
const groups = [...table.matchAll(/^\| (.+?) \| (.+) \|$/gm)].map(([, to = '', pages = '']) => ({
  text: to.charAt(0).toUpperCase() + to.slice(1),
  items: linksIn(pages, '/'),
}));

export const sidebar: DefaultTheme.SidebarItem[] = [
  { text: 'Ringback', link: '/' },
  ...groups,
  { text: 'Reference', items: linksIn(entryPoints, '/reference/') },
];

function linksIn(markdown: string, base: string): DefaultTheme.SidebarItem[] {
  return [...markdown.matchAll(/\[([^\]]+)\]\(([\w/.-]+)\.md\)/g)].map(([, text = '', page = '']) => ({
    text,
    link: base + page,
  }));
}
