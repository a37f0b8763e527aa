import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { deliverTo } from '../../src/testing/deliver.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { folder, ringback, ringbackProcess, secret, serve } from './command.ts';

const app = "export default (r) => r.on('*', { name: 'crm' }, () => {});";

/** The arguments with which Node runs a module before the command. */
const preloaded = (code: string): string[] => [
  '--import',
  `data:text/javascript,${encodeURIComponent(code)}`,
];

/** Does something again and again until the other work is done. */
async function during<T>(work: Promise<T>, act: (count: number) => Promise<unknown>): Promise<T> {
  const over = new AbortController();
  const result = work.finally(() => over.abort());
  for (let count = 0; !over.signal.aborted; count += 1) await act(count);
  return result;
}

/** The id of a process that has ended. */
async function endedProcess(): Promise<number | undefined> {
  const ended = spawn(process.execPath, ['--version']);
  await once(ended, 'close');
  return ended.pid;
}

describe('backup', () => {
  it(
    'copies everything acknowledged before, while deliveries arrive, to a file on which a receiver continues',
    { tags: 'long' },
    async () => {
      const cwd = folder({ 'app.mjs': app });
      const url = `${await serve(['--app', 'app.mjs'], { cwd }).url()}/webhooks`;
      // Sent again unless it is taken: a busy machine may take longer over one of many writes than a sender waits.
      const send = async (traceId: string) => {
        const delivery = buildDelivery('call-ended', { secret, traceId });
        await expect.poll(async () => (await deliverTo(url, delivery)).status).toBe(200);
      };
      for (let count = 0; count < 50; count += 1) await send(`before-${count}`);
      const copied = await during(ringback(['backup', 'copy.db'], { cwd }), (count) =>
        send(`during-${count}`),
      );
      const copy = join(cwd, 'copy.db');
      expect(copied.code).toBe(0);
      expect(JSON.parse(copied.stdout)).toEqual({ backup: copy, bytes: statSync(copy).size });
      expect(statSync(copy).mode & 0o777).toBe(0o600);
      expect(readdirSync(cwd).filter((name) => name.includes('partial'))).toEqual([]);
      const restored = serve(['--app', 'app.mjs', '--database', 'copy.db'], { cwd });
      const again = `${await restored.url()}/webhooks`;
      for (let count = 0; count < 50; count += 1) {
        const delivery = buildDelivery('call-ended', { secret, traceId: `before-${count}` });
        const answered = () => deliverTo(again, delivery);
        await expect.poll(answered).toMatchObject({ body: { status: 'duplicate' } });
      }
    },
  );

  it('releases all claims in the copy: what was in flight is handled there, although the original process lives', async () => {
    const [database, copy] = [temporaryDatabase(), temporaryDatabase()];
    let begun = 0;
    const { receiver } = await started({ database }, (r) =>
      r.on('*', { name: 'crm' }, (_, { signal }) => {
        begun += 1;
        return new Promise((resolve) => signal.addEventListener('abort', resolve));
      }),
    );
    await deliver(receiver, bodyOf({ traceId: 'in-flight' }));
    await expect.poll(() => begun).toBe(1);
    expect(await ringback(['backup', copy, '--database', database])).toMatchObject({ code: 0 });
    const handled: string[] = [];
    await started({ database: copy }, (r) =>
      r.on('*', { name: 'crm' }, ({ traceId }) => void handled.push(traceId)),
    );
    await expect.poll(() => handled).toEqual(['in-flight']);
  });

  it('never overwrites a file, and leaves nothing where it fails', { tags: 'long' }, async () => {
    const cwd = folder({ 'taken.db': 'precious' });
    await serve([], { cwd }).url();
    const before = readdirSync(cwd).toSorted();
    const taken = await ringback(['backup', 'taken.db'], { cwd });
    expect(taken).toMatchObject({ code: 1, stdout: '' });
    expect(taken.stderr).toMatch(
      /taken\.db, but a file with that name exists already\. No part of the copy is left/,
    );
    const nowhere = await ringback(['backup', 'missing/copy.db'], { cwd });
    expect(nowhere.stderr).toMatch(/but there is no such folder\./);
    expect(readdirSync(cwd).toSorted()).toEqual(before);
  });

  it('refuses a name that is taken while the copy is made', { tags: 'long' }, async () => {
    const taking = `
      import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      const sync = fs.fsyncSync;
      fs.fsyncSync = (descriptor) => {
        fs.writeFileSync('copy.db', 'precious');
        sync(descriptor);
      };
      syncBuiltinESMExports();
    `;
    const cwd = folder();
    await serve([], { cwd }).url();
    const before = readdirSync(cwd);
    const { code, stderr } = await ringbackProcess(['backup', 'copy.db'], { cwd, node: preloaded(taking) });
    expect([code, stderr]).toEqual([1, expect.stringContaining('a file with that name exists already')]);
    expect(readFileSync(join(cwd, 'copy.db'), 'utf8')).toBe('precious');
    expect(readdirSync(cwd).toSorted()).toEqual([...before, 'copy.db'].toSorted());
  });

  it('needs no hard links, which some file systems do not have', { tags: 'long' }, async () => {
    const without = `
      import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      fs.linkSync = () => {
        throw Object.assign(new Error('operation not permitted'), { code: 'EPERM' });
      };
      syncBuiltinESMExports();
    `;
    const cwd = folder();
    await serve([], { cwd }).url();
    const copied = await ringbackProcess(['backup', 'copy.db'], { cwd, node: preloaded(without) });
    expect([copied.code, copied.stderr]).toEqual([0, '']);
    expect(statSync(join(cwd, 'copy.db')).mode & 0o777).toBe(0o600);
  });

  it.each(['-wal', '-journal'])(
    'is not made beside what is left of another database, its %s, which SQLite would write into it',
    async (end) => {
      const cwd = folder({ [`copy.db${end}`]: 'left' });
      await serve([], { cwd }).url();
      const { code, stderr } = await ringback(['backup', 'copy.db'], { cwd });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/copy\.db-\w+, which belongs to another/)]);
      expect(readdirSync(cwd).filter((name) => name.startsWith('copy'))).toEqual([`copy.db${end}`]);
    },
  );

  it('removes what copies have left that were killed on this machine, and nothing else', async () => {
    const dead = await endedProcess();
    const left = (name: string, pid: number | undefined, host: string) =>
      `${name}.${pid}@${host}.0123abcd.partial`;
    const others = [
      left('copy.db', process.ppid, hostname()),
      left('copy.db', dead, `not-${hostname()}`),
      'copy.db.partial',
    ];
    const abandoned = [
      left('copy.db', dead, hostname()),
      left('yesterday.db', dead, hostname()),
      // SQLite's own, which its next copy doesn't need either.
      `${left('yesterday.db', dead, hostname())}-journal`,
    ];
    const cwd = folder(Object.fromEntries([...others, ...abandoned].map((name) => [name, 'left'])));
    await serve([], { cwd }).url();
    expect(await ringback(['backup', 'copy.db'], { cwd })).toMatchObject({ code: 0, stderr: '' });
    const names = readdirSync(cwd).filter((name) => !name.startsWith('ringback.db'));
    expect(names.toSorted()).toEqual([...others, 'copy.db'].toSorted());
  });

  it('does not offer a URL in its help, because it refuses one', async () => {
    const { stdout } = await ringback(['backup', '--help']);
    expect(stdout).toContain('--database <file>');
    expect(stdout).not.toContain('postgres://');
  });

  it('refuses what is no inbox, and an inbox in Postgres', async () => {
    const cwd = folder();
    const missing = await ringback(['backup', 'copy.db'], { cwd });
    expect(missing.code).toBe(1);
    expect(missing.stderr).toMatch(/there is no such file/);
    expect(readdirSync(cwd)).toEqual([]);
    symlinkSync('ringback.db', join(cwd, 'ringback.db'));
    const loop = await ringback(['backup', 'copy.db'], { cwd });
    expect(loop.stderr).toMatch(/but: too many symbolic links/);
    rmSync(join(cwd, 'ringback.db'));
    const elsewhere = await ringback(['backup', 'copy.db', '--database', 'postgres://nowhere.invalid/app'], {
      cwd,
    });
    expect(elsewhere.code).toBe(2);
    expect(elsewhere.stderr).toMatch(/should be the file of an inbox in SQLite, but is a URL\./);
  });
});
