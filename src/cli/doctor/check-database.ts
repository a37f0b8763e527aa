import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { RingbackError } from '../../errors/errors.ts';
import { messageOf } from '../../kit/error-text.ts';
import { openingCause, openingFix } from '../../store/sqlite/connection/connection.ts';
import { examineDatabase } from '../../store/sqlite/connection/examination.ts';
import { schemaVersion } from '../../store/sqlite/connection/migrations/migrate.ts';
import type { StoreCounts } from '../../store/store.ts';
import { type Finding, finding, ok, skipped, warning, wrong } from './findings.ts';

export function checkDatabase(file: string): readonly Finding[] {
  if (file === ':memory:') return [warning('database', ':memory: keeps nothing: set --database to a file.')];
  if (!existsSync(file)) return [checkFolder(dirname(resolve(file)), file)];
  try {
    const { schema, counts } = examineDatabase(file);
    if (schema > schemaVersion) return [newer(file, schema)];
    const opened = ok('database', `${file} can be written`);
    return counts ? [opened, inboxFinding(counts)] : [opened];
  } catch (error) {
    return [refused(file, error)];
  }
}

function newer(file: string, schema: number): Finding {
  return wrong(
    'database',
    `${file} was written by a newer version of Ringback (schema version ${schema}): run that one.`,
  );
}

function refused(file: string, error: unknown): Finding {
  if (error instanceof RingbackError) return wrong('database', error.message);
  return wrong(
    'database',
    `${file} can't be opened for writing: ${openingCause(error)}. ` +
      (openingFix(error) ?? 'Check the path and its permissions.'),
  );
}

function checkFolder(folder: string, file: string): Finding {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return ok('database', `${file} does not exist yet, and can be created`);
  } catch (error) {
    return wrong(
      'database',
      `${file} can't be created: ${messageOf(error)}. Create the folder, or set --database.`,
    );
  }
}

/** How full the inbox is, and whether anything in it needs a person. */
export function inboxFinding({ events, runs, quarantine }: StoreCounts): Finding {
  const notDone = events.new + events.open;
  const forAPerson = [
    ...counted('dead letters', runs.dead, 'ringback inbox events --state dead'),
    ...counted('unreadable deliveries', quarantine.unreadable, 'ringback inbox quarantine --kind unreadable'),
  ];
  const parts = [
    `events: ${notDone + events.done}, of which ${notDone} are not done`,
    ...forAPerson,
    // No reason for a warning: anybody who finds the address can send some.
    ...counted('unauthenticated deliveries', quarantine.notAuthentic, 'ringback inbox quarantine'),
  ];
  return finding('inbox', forAPerson.length > 0 ? 'warning' : 'ok', parts.join('; '));
}

function counted(what: string, count: number, look: string): readonly string[] {
  return count > 0 ? [`${what}: ${count} (${look})`] : [];
}

/** Network file systems, by their numbers in Linux. SQLite's WAL needs shared memory, which machines don't share. */
const networks: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9P'],
  [0x5346414f, 'AFS'],
  [0x73757245, 'Coda'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x19830326, 'BeeGFS'],
]);

/** File systems that may lose the database or be on a network, by their numbers in Linux. */
const doubtful: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'a file system in memory (tmpfs), which is empty after a restart of the machine'],
  [0x858458f6, 'a file system in memory (ramfs), which is empty after a restart of the machine'],
  [0x794c7630, 'the layer of a container (overlayfs), which is removed with the container: mount a volume'],
  [0x65735546, 'a FUSE file system, which may be a network volume: network volumes do not work'],
  [0x786f4256, 'a folder shared with a virtual machine: put the database on a disk of its own'],
]);

/** Whether the inbox is on a local disk, as far as the system reports. */
export function checkDisk(file: string): Finding {
  if (file === ':memory:') return skipped('disk', 'there is no file');
  if (process.platform !== 'linux') {
    return skipped(
      'disk',
      `can't be determined on ${process.platform}: it should be a local disk of this machine`,
    );
  }
  try {
    return fileSystemFinding(typeAt(file));
  } catch (error) {
    return skipped('disk', `can't be determined: ${messageOf(error)}`);
  }
}

export function fileSystemFinding(type: number): Finding {
  const network = networks.get(type);
  if (network !== undefined) {
    return wrong(
      'disk',
      `the database is on a network volume (${network}): put it on a disk of this machine.`,
    );
  }
  const doubt = doubtful.get(type);
  return doubt === undefined
    ? ok('disk', 'the database is on a disk of this machine')
    : warning('disk', `the database is on ${doubt}.`);
}

function typeAt(file: string): number {
  const { type } = statfsSync(existsSync(file) ? file : dirname(resolve(file)));
  // Made unsigned, because some systems return it with a sign.
  return type >>> 0;
}
