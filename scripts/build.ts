/**
 * Builds the package: `dist/` from `src/`, with type declarations, the executable command, the entries for `require`,
 * and the operators' page.
 *
 *   npm run build
 *
 * `npm pack` and `npm publish` run it first (`prepack`), so that the published files always match the sources.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { buildPage } from './page.ts';
import { writeRequireEntries } from './require-entries.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));

// A file whose source was deleted must not be published.
rmSync(`${root}dist`, { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [compiler, '-p', `${root}tsconfig.build.json`], {
  stdio: 'inherit',
});
if (status === 0) {
  chmodSync(`${root}dist/cli/main.js`, 0o755);
  writeRequireEntries(root);
  await buildPage();
}
process.exitCode = status ?? 1;
