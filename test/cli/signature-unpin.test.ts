// @module-tag long
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bodyOf, deliver, signedHeaders } from '../support/deliveries.ts';
import { type SchemeName } from '../support/public.ts';
import { started } from '../support/receiver.ts';
import { folder, ringback } from './command.ts';

/** Starts a receiver, delivers an event that is signed in this scheme, and resolves to the status of the answer. */
async function delivered(database: string, scheme: SchemeName): Promise<number> {
  const { receiver } = await started({ database });
  const body = bodyOf();
  const { status } = await deliver(receiver, body, signedHeaders(body, { scheme }));
  await receiver.stop();
  return status;
}

describe('signature unpin', () => {
  it('shows the pinned scheme, and unpins it only with --yes', async () => {
    const database = join(folder(), 'inbox.db');
    const env = { RINGBACK_DATABASE: database };
    expect(await delivered(database, 'v1-hex-whole')).toBe(200);
    expect(await ringback(['signature', 'unpin'], { env })).toEqual({
      code: 0,
      stdout: `The scheme v1-hex-whole is pinned in ${database}. To unpin it, add --yes.`,
      stderr: '',
    });
    expect(await delivered(database, 't-v1-hex-whole')).toBe(401);
    const account = ['--by', 'ann', '--reason', 'a test has pinned it'];
    const unpin = ['signature', 'unpin', '--yes', '--database', database, ...account];
    const { code, stdout } = await ringback(unpin);
    expect(code).toBe(0);
    expect(stdout).toContain('The scheme v1-hex-whole is no longer pinned.');
    expect(await delivered(database, 't-v1-hex-whole')).toBe(200);
    expect(await delivered(database, 'v1-hex-whole')).toBe(401);
    // Only what was changed is on the list.
    const audited = await ringback(['inbox', 'audit'], { env });
    expect(JSON.parse(audited.stdout)).toMatchObject({
      action: 'unpin',
      what: 'v1-hex-whole',
      by: 'ann',
      reason: 'a test has pinned it',
    });
  });

  it('says that nothing is pinned, also while a receiver runs', async () => {
    const database = join(folder(), 'inbox.db');
    await started({ database });
    const { stdout } = await ringback(['signature', 'unpin', '--yes', '--database', database]);
    expect(stdout).toBe(`No scheme is pinned in ${database}.`);
  });

  it('makes no database', async () => {
    const cwd = folder();
    const { code, stderr } = await ringback(['signature', 'unpin', '--yes'], { cwd });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ringback: The database \.\/ringback\.db should be .* there is no such file/);
    expect(readdirSync(cwd)).toEqual([]);
  });
});
