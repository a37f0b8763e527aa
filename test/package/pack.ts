/** Packs the package as `npm publish` would, except that its types are not checked again: `npm test` has checked them. */
import { execFile } from 'node:child_process';
import { cp, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The files that the package is made of, and those that build it. */
const sources = [
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
  'docs',
  'examples',
  'fixtures',
  'schemas',
  'scripts',
  'src',
  'test/package',
];

/**
 * Packs a copy of the sources into a folder, because `npm pack` rebuilds `dist/`, which others may be reading. Resolves to the
 * path of the tarball.
 */
export async function pack(folder: string): Promise<string> {
  const copy = join(folder, 'copy');
  for (const source of sources) await cp(join(root, source), join(copy, source), { recursive: true });
  await leaveOutTypeCheck(join(copy, 'tsconfig.build.json'));
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  await promisify(execFile)('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: copy });
  return join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? '');
}

/** The linter checks the types of the sources, which takes as long as the rest of the build. */
async function leaveOutTypeCheck(file: string): Promise<void> {
  const config = JSON.parse(await readFile(file, 'utf8')) as { compilerOptions: object };
  const compilerOptions = { ...config.compilerOptions, noCheck: true };
  await writeFile(file, JSON.stringify({ ...config, compilerOptions }));
}
