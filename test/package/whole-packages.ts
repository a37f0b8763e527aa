/** Packages as files of a project, for bundlers that follow no link out of it. */
import {
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PackedProject } from './packed-project.ts';

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** Installs packages, of those that are here, and whatever they and the packed package need, as npm would. */
export function addWholePackages({ folder, installed }: PackedProject, ...names: readonly string[]): void {
  const installedNames = new Set<string>();
  for (const name of names) install(name);
  installNeeded(installed);

  function install(name: string): void {
    const source = join(modules, name);
    // Optional ones are here for this system only.
    if (installedNames.has(name) || !existsSync(source)) return;
    installedNames.add(name);
    const target = join(folder, 'node_modules', name);
    if (lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink() === true) rmSync(target);
    linkFolder(source, target);
    installNeeded(source);
  }

  function installNeeded(source: string): void {
    const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>;
      optionalDependencies?: Record<string, string>;
    };
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
      const nested = join(source, 'node_modules', name);
      // It came with the folder that it is in.
      if (existsSync(nested)) installNeeded(nested);
      else install(name);
    }
  }
}

/** As hard links: a bundler takes them for files, and they take neither time nor room. */
function linkFolder(source: string, target: string): void {
  mkdirSync(target, { recursive: true });
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isDirectory()) linkFolder(from, to);
    else if (entry.isFile()) linkOrCopy(from, to);
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    // Such as from one disk to another.
    if (!['EXDEV', 'EMLINK', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    copyFileSync(from, to);
  }
}
