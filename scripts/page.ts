/** Builds the operators' page: from `src/operate/page/browser/` to the files that the receiver serves. */
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const sources = `${root}src/operate/page/browser`;

/** Where the built files are. */
const pageFolder = `${root}dist/operate/page/assets`;

/** Builds the page: a document, one script and one style, whose addresses are relative. */
export async function buildPage(): Promise<void> {
  const { build } = await import('vite');
  await build({
    configFile: false,
    root: sources,
    base: './',
    publicDir: false,
    logLevel: 'warn',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir: pageFolder,
      emptyOutDir: true,
      assetsDir: '',
      // Nothing may be inline: the page's policy would refuse it.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      target: 'es2022',
      cssTarget: 'esnext',
      reportCompressedSize: false,
      rolldownOptions: {
        output: { entryFileNames: 'page-[hash].js', assetFileNames: 'page-[hash][extname]' },
      },
    },
  });
}

/** Builds the page unless it is newer than all its sources. */
export async function buildPageIfNeeded(): Promise<void> {
  const made = statSync(`${pageFolder}/index.html`, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' });
  const newest = Math.max(...[...files, '.'].map((file) => statSync(`${sources}/${file}`).mtimeMs));
  if (made < newest) await buildPage();
}
