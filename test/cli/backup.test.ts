import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { deliverTo } from '../../src/testing/deliver.ts';
import { bodyOf, deliver } from '../support/deliveries.ts';
import { started } from '../support/receiver.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { folder, ringback, ringbackProcess, secret, serve } from './command.ts';

const app = "export default (r) => r.on('*', { name: 'crm' }, () => {});";

/** Does something again and again until the other work is done. */
async function during<T>(work: Promise<T>, act: (count: number) => Promise<unknown>): Promise<T> {
  const over = new AbortController();
  const result = work.finally(() => over.abort());
  for (let count = 0; !over.signal.aborted; count += 1) await act(count);
  return result;
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
    await expect.poll(() => handled, { timeout: 20_000 }).toEqual(['in-flight']);
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

  it('begins no copy to a name that is taken', async () => {
    const cwd = folder({ 'taken.db': 'precious', 'taken.db.partial': 'half a copy' });
    await serve([], { cwd }).url();
    const { code, stderr } = await ringback(['backup', 'taken.db'], { cwd });
    expect([code, stderr]).toEqual([1, expect.stringContaining('a file with that name exists already')]);
    expect(readFileSync(join(cwd, 'taken.db.partial'), 'utf8')).toBe('half a copy');
  });

  it('takes the place of a copy that was cut short', async () => {
    const cwd = folder();
    await serve([], { cwd }).url();
    writeFileSync(join(cwd, 'copy.db.partial'), 'half a copy');
    chmodSync(join(cwd, 'copy.db.partial'), 0o644);
    expect(await ringback(['backup', 'copy.db'], { cwd })).toMatchObject({ code: 0 });
    expect(statSync(join(cwd, 'copy.db')).mode & 0o777).toBe(0o600);
  });

  it(
    'does not give its name to the half of another copy that was begun meanwhile',
    { tags: 'long' },
    async () => {
      // What another copy to the same name does first.
      const other = `
      import fs from 'node:fs';
      import { syncBuiltinESMExports } from 'node:module';
      const link = fs.linkSync;
      fs.linkSync = (from, to) => {
        fs.rmSync(from);
        fs.writeFileSync(from, 'half of another copy');
        link(from, to);
      };
      syncBuiltinESMExports();
    `;
      const cwd = folder();
      await serve([], { cwd }).url();
      const node = ['--import', `data:text/javascript,${encodeURIComponent(other)}`];
      const { code, stderr } = await ringbackProcess(['backup', 'copy.db'], { cwd, node });
      expect([code, stderr]).toEqual([
        1,
        expect.stringContaining('another copy to it has been started meanwhile'),
      ]);
      expect(existsSync(join(cwd, 'copy.db'))).toBe(false);
      expect(readFileSync(join(cwd, 'copy.db.partial'), 'utf8')).toBe('half of another copy');
    },
  );

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

  it('says why where it cannot remove what is in its way', async () => {
    const cwd = folder();
    await serve([], { cwd }).url();
    mkdirSync(join(cwd, 'copy.db.partial'));
    const { code, stderr } = await ringback(['backup', 'copy.db'], { cwd });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('there is a folder with the name of the unfinished copy'),
    ]);
    expect(existsSync(join(cwd, 'copy.db'))).toBe(false);
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
    const elsewhere = await ringback(['backup', 'copy.db', '--database', 'postgres://nowhere.invalid/app'], {
      cwd,
    });
    expect(elsewhere.code).toBe(2);
    expect(elsewhere.stderr).toMatch(/should be the file of an inbox in SQLite, but is a URL\./);
  });
});
