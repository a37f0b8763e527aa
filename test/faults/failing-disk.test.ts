// @module-tag long
/** A disk that fails a sync, under a receiver in a process of its own. It needs Linux and a C compiler. */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { bodyOf, post } from '../support/deliveries.ts';
import { ReceiverProcess } from '../support/process.ts';
import { temporaryFolder } from '../support/temporary.ts';

const hasCompiler = process.platform === 'linux' && spawnSync('gcc', ['--version']).status === 0;

test.skipIf(!hasCompiler)(
  'after one failed sync nothing is acknowledged until the inbox was reopened and its WAL is empty',
  async () => {
    const folder = temporaryFolder();
    const [library, flag, database] = ['failing-sync.so', 'failing', 'inbox.db'].map((name) =>
      join(folder, name),
    ) as [string, string, string];
    const source = fileURLToPath(new URL('./failing-sync.c', import.meta.url));
    const { status, stderr } = spawnSync('gcc', ['-shared', '-fPIC', '-o', library, source, '-ldl']);
    expect([status, String(stderr)]).toEqual([0, '']);
    const environment = { LD_PRELOAD: library, FAILING_SYNC: flag };
    const receiver = new ReceiverProcess({
      database,
      file: join(folder, 'none'),
      handlers: 'committing',
      environment,
    });
    const url = await receiver.url();
    const send = async (traceId: string, payload = {}) => {
      const answer = await post(url, bodyOf({ traceId, payload }));
      return [answer.status, answer.headers.get('retry-after') !== null];
    };
    expect(await send('before', { hold: true })).toEqual([200, false]);
    await receiver.line('begun');

    // As long as somebody reads the WAL, it can't be emptied.
    const reader = new Database(database, { readonly: true });
    onTestFinished(() => void reader.close());
    const idsIn = (connection: Database.Database) =>
      connection.prepare('select trace_id from events order by sequence').pluck().all();
    const effectsIn = (connection: Database.Database) =>
      connection.prepare('select trace_id from effects order by trace_id').pluck().all();
    reader.exec('begin');
    expect(idsIn(reader)).toEqual(['before']);

    writeFileSync(flag, '');
    expect(await send('during')).toEqual([503, true]);
    rmSync(flag);
    // The disk would take the next sync, and the kernel might have forgotten what the failed one was about. The same
    // holds for what a handler commits.
    await receiver.release();
    for (let again = 0; again < 5; again += 1) expect(await send(`after-${again}`)).toEqual([503, true]);
    const latest = new Database(database, { readonly: true });
    expect(latest.prepare("select name from sqlite_master where name = 'effects'").all()).toEqual([]);
    latest.close();
    reader.exec('commit');
    await expect.poll(() => send('during')).toEqual([200, false]);
    await expect.poll(() => send('after-0')).toEqual([200, false]);
    await expect.poll(() => effectsIn(reader)).toEqual(['after-0', 'before', 'during']);
    await receiver.stop();
    const ids = idsIn(reader);
    expect(ids).toEqual(expect.arrayContaining(['before', 'during', 'after-0']));
    expect(new Set(ids).size).toBe(ids.length);
  },
);
