import { existsSync, statfsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../kit/error-text.ts';
import { type Finding, finding } from './finding.ts';

const check = 'disk';

/** Network file systems, by their numbers in Linux. SQLite's log needs shared memory, which machines don't share. */
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

/** File systems that may lose the database or may be a network's, by their numbers in Linux, with a description. */
const doubtful: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'a file system in memory (tmpfs), which is empty after a restart of the machine'],
  [0x858458f6, 'a file system in memory (ramfs), which is empty after a restart of the machine'],
  [0x794c7630, 'the layer of a container (overlayfs), which is gone with the container: mount a volume'],
  [0x65735546, 'a FUSE file system, which may be a network volume: those do not work'],
  [0x786f4256, 'a folder shared with a virtual machine: put the database on a disk of its own'],
]);

/** Whether the inbox is on a disk of this machine, as far as the system tells. */
export function checkDisk(file: string): Finding {
  if (file === ':memory:') return finding(check, 'skipped', 'there is no file');
  if (process.platform !== 'linux') {
    return finding(
      check,
      'skipped',
      `can't be told on ${process.platform}: it should be a disk of this machine`,
    );
  }
  try {
    return fileSystemFinding(typeAt(file));
  } catch (error) {
    return finding(check, 'skipped', `can't be told: ${messageOf(error)}`);
  }
}

/** The finding for the number of a file system. */
export function fileSystemFinding(type: number): Finding {
  const network = networks.get(type);
  if (network !== undefined) {
    return finding(
      check,
      'wrong',
      `the database is on a network volume (${network}): put it on a disk of this machine.`,
    );
  }
  const doubt = doubtful.get(type);
  return doubt === undefined
    ? finding(check, 'ok', 'the database is on a disk of this machine')
    : finding(check, 'warning', `the database is on ${doubt}.`);
}

function typeAt(file: string): number {
  const { type } = statfsSync(existsSync(file) ? file : dirname(resolve(file)));
  // As an unsigned 32-bit number, since some systems return it with a sign.
  return type >>> 0;
}
