import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The text of each generated file, by its name. */
export type Files = ReadonlyMap<string, string>;

/** The files that a generator makes, their folder, and the command that makes them. */
export interface Generator {
  readonly folder: string;
  readonly files: Files;
  readonly command: string;
  /** Tells which files of the folder are generated. @default those whose names end in `.json` */
  readonly owns?: (name: string) => boolean;
}

/** Writes the files, or with `--check` compares them with those on disk and fails if any differs. */
export function runGenerator(generator: Generator): void {
  if (!process.argv.includes('--check')) return write(generator);
  const stale = staleFiles(generator);
  if (stale.length === 0) return;
  process.stderr.write(
    `${stale.join(', ')} should be what the sources say, but: run ${generator.command}.\n`,
  );
  process.exitCode = 1;
}

/** The names of files that differ from the generated ones, are missing, or are no longer generated. */
export function staleFiles({ folder, files, owns }: Generator): string[] {
  const onDisk = new Map(
    ownedFilesOf(folder, owns).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
  const names = new Set([...files.keys(), ...onDisk.keys()]);
  return [...names].filter((name) => onDisk.get(name) !== files.get(name)).sort();
}

function write({ folder, files, owns }: Generator): void {
  mkdirSync(folder, { recursive: true });
  for (const name of ownedFilesOf(folder, owns)) if (!files.has(name)) rmSync(join(folder, name));
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
}

function ownedFilesOf(folder: string, owns = (name: string) => name.endsWith('.json')): string[] {
  return readdirSync(folder).filter(owns);
}
