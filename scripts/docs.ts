/**
 * Builds the website of the documentation into site/dist, which any static server can serve: `npm run docs`. Generates
 * the reference of the public names from their docstrings first.
 */
import { readFileSync, rmSync } from 'node:fs';
import { Application, TSConfigReader, TypeDocReader } from 'typedoc';
import { build } from 'vitepress';

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest;
/** The sources of what an app imports: `./dist/testing/index.d.ts` is made of `src/testing/index.ts`. */
const entryPoints = Object.values(manifest.exports).flatMap((target) =>
  typeof target === 'string' ? [] : [target.types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts')],
);

rmSync('site/reference', { recursive: true, force: true });
const app = await Application.bootstrapWithPlugins(
  { options: 'site/typedoc.json', tsconfig: 'tsconfig.build.json', entryPoints },
  [new TypeDocReader(), new TSConfigReader()],
);
const project = await app.convert();
if (!project) throw new Error('TypeDoc could not read the sources.');
await app.generateOutputs(project);
// VitePress takes a link for one to a page unless it knows the file extension.
process.env['VITE_EXTRA_EXTENSIONS'] = 'cjs';
await build('site');
