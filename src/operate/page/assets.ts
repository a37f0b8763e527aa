import { readFile, readdir } from 'node:fs/promises';
import { extname } from 'node:path';
import { ownFile } from '../../kit/files.ts';

/** A file of the page. */
interface Asset {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
}

/** The built files. The path is the same from the sources and from the package. */
const folder = ownFile('../../../dist/operate/page/assets/', import.meta.url);

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

let loaded: Promise<ReadonlyMap<string, Asset>> | undefined;

/** The files of the page by name, read once: no path of a request reaches the file system. */
export async function assets(): Promise<ReadonlyMap<string, Asset>> {
  try {
    return await (loaded ??= load());
  } catch (error) {
    loaded = undefined;
    throw error;
  }
}

async function load(): Promise<ReadonlyMap<string, Asset>> {
  const names = await readdir(folder);
  const known = names.filter((name) => extname(name) in types);
  return new Map(await Promise.all(known.map(async (name) => [name, await asset(name)] as const)));
}

async function asset(name: string): Promise<Asset> {
  return { bytes: new Uint8Array(await readFile(new URL(name, folder))), type: types[extname(name)] ?? '' };
}
