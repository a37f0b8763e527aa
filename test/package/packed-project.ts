/** A project of its own that the packed package is put into, without a network. */
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { askAtDoor } from '../support/door.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A project that has the packed package installed. */
export interface PackedProject {
  readonly folder: string;
  /** The path of the tarball. */
  readonly tarball: string;
  /** Where the installed package is. */
  readonly installed: string;
  /** Paths of all files in the tarball. */
  readonly files: readonly string[];
  remove(): void;
}

/** Makes a project, and puts the package into it. */
export async function packProject(): Promise<PackedProject> {
  const tarball = await askAtDoor(inject('preparedDoor'), '/package');
  const folder = mkdtempSync(join(tmpdir(), 'ringback-package-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    return { folder, tarball, ...install(tarball, folder), remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function install(tarball: string, folder: string): Pick<PackedProject, 'installed' | 'files'> {
  const installed = join(folder, 'node_modules', 'ringback');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed]);
  const files = listFiles(installed);
  linkDependencies(folder, installed);
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'user', private: true, type: 'module' }),
  );
  return { installed, files };
}

function listFiles(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

/** Only what package.json declares, so that an undeclared dependency is missed here as it would be by a user. */
function linkDependencies(folder: string, installed: string): void {
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    bin: Record<string, string>;
  };
  const modules = join(folder, 'node_modules');
  link(modules, [...Object.keys(manifest.dependencies), '@types/node']);
  mkdirSync(join(modules, '.bin'));
  for (const [name, file] of Object.entries(manifest.bin)) {
    symlinkSync(join(installed, file), join(modules, '.bin', name));
  }
}

function link(modules: string, names: readonly string[]): void {
  for (const name of names) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
}

/** Runs a program in the project and returns what it writes; throws with its output when it fails. */
export function runIn({ folder }: PackedProject, command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
}

/** Installs more packages, of those that are here. */
export function addPackages({ folder }: PackedProject, ...names: readonly string[]): void {
  link(join(folder, 'node_modules'), names);
}
