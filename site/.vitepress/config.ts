/** The documentation as a website: the pages of the repository, and the reference that scripts/docs.ts makes. */
import { cpSync } from 'node:fs';
import { defineConfig } from 'vitepress';
import { addressOf, linkToIndex, slugOf } from './markdown.ts';
import { sidebar } from './navigation.ts';

export default defineConfig({
  title: 'Ringback',
  description:
    'Receives the call events of a voice-AI platform: verifies and stores them, answers within the second, and runs your handlers.',
  lang: 'en',
  srcDir: '..',
  outDir: 'dist',
  cacheDir: '../node_modules/.cache/vitepress',
  // Beside the documentation there is what is for people who change it.
  srcExclude: ['**/node_modules/**', 'dist/**', 'site/dist/**', 'test/**', 'fixtures/**', 'src/**'],
  rewrites: addressOf,
  // Pages link to files that are no pages.
  buildEnd: ({ outDir }) => {
    cpSync('examples', `${outDir}/examples`, {
      recursive: true,
      filter: (file) => !file.includes('node_modules'),
    });
  },
  markdown: {
    anchor: { slugify: slugOf },
    config: (markdown) => markdown.core.ruler.push('index', linkToIndex),
  },
  themeConfig: {
    search: { provider: 'local' },
    sidebar,
    outline: [2, 3],
  },
});
