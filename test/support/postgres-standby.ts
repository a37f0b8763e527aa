/** The data of a standby: a copy of a running server's data. */
import { mkdirSync } from 'node:fs';
import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { own } from './postgres-programs.ts';

/** Folders that are copied empty: the standby doesn't need what is in them, or gets it over the wire. */
const emptied = new Set(['pg_wal', 'pg_dynshmem', 'pg_stat_tmp', 'pg_replslot']);
const left = new Set(['postmaster.pid', 'postmaster.opts']);

/** Copies the data folder of a running server to the folder of a standby. */
export async function copyForStandby(
  primary: { readonly url: string; readonly dataFolder: string },
  folder: string,
): Promise<void> {
  const client = new Client({ connectionString: primary.url });
  await client.connect();
  try {
    await client.query("select pg_backup_start('standby', true)");
    mkdirSync(folder, { mode: 0o700 });
    own(folder);
    await copyAll(primary.dataFolder, folder);
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    await add(folder, 'backup_label', rows[0]?.labelfile ?? '');
    await add(folder, 'standby.signal', '');
  } finally {
    await client.end();
  }
}

async function copyAll(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (left.has(entry.name)) continue;
    if (!entry.isDirectory()) await copyOne(source, target);
    else {
      mkdirSync(target, { mode: 0o700 });
      own(target);
      if (!emptied.has(entry.name)) await copyAll(source, target);
    }
  }
}

/** Skips a file that the server has removed meanwhile: the standby learns of the removal from the WAL. */
async function copyOne(source: string, target: string): Promise<void> {
  try {
    await copyFile(source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  own(target);
}

async function add(folder: string, name: string, text: string): Promise<void> {
  const file = join(folder, name);
  await writeFile(file, text, { mode: 0o600 });
  own(file);
}
