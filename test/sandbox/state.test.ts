import BetterSqlite from 'better-sqlite3';
import { writeFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { foundInFiles } from '../support/files.ts';
import { Logs } from '../support/logs.ts';
import { createReceiver } from '../support/public.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { subscribed } from './delivery-subscription.ts';
import { destination } from './destination.ts';
import { ask, startedSandbox, subscription, subscriptionPath as path } from './support.ts';
import { twoTenants } from './tenants.ts';

describe('a sandbox that is started again on its database', () => {
  it('has everything that it had, and knows its keys', async () => {
    const database = temporaryDatabase();
    const first = await startedSandbox({ database });
    const key = first.apiKey ?? '';
    const { json } = await ask(first, `POST ${path}`, { body: subscription });
    const { id, secret } = json as { id: string; secret: string };
    const rotated = await ask(first, `POST ${path}/${id}/rotate/secret`);
    const before = await ask(first, `GET ${path}/${id}`);
    await first.stop();

    const second = await startedSandbox({ database });
    expect(second.apiKey).toBeUndefined();
    expect((await ask(second, `GET ${path}/${id}`, { key })).text).toBe(before.text);
    expect((await ask(second, `POST ${path}`, { key, body: subscription })).status).toBe(400);
    expect((await ask(second, 'GET /api/v1/knowledge-bases/kb_demonstration', { key })).status).toBe(200);
    const again = await ask(second, `POST ${path}/${id}/rotate/secret`, { key });
    const secrets = [secret, ...[rotated, again].map((answer) => (answer.json as { secret: string }).secret)];
    expect(new Set(secrets).size).toBe(3);
  });

  it('is not filled again', async () => {
    const database = temporaryDatabase();
    await (await startedSandbox({ database, seed: twoTenants })).stop();
    const second = await startedSandbox({ database });
    expect(second.apiKey).toBeUndefined();
    expect((await ask(second, 'GET /api/v1/knowledge-bases/kb_shared', { key: 'key_of_ada' })).status).toBe(
      200,
    );
    expect((await ask(second, 'GET /api/v1/knowledge-bases/kb_shared', { key: 'key_of_cleo' })).status).toBe(
      404,
    );
  });
});

describe('the key of a new database', () => {
  it('is different each time, and is not stored in it', async () => {
    const database = temporaryDatabase();
    const [one, other] = [await startedSandbox({ database }), await startedSandbox()];
    expect(one.apiKey).toMatch(/^key_[\w-]{32}$/);
    expect(other.apiKey).not.toBe(one.apiKey);
    await ask(one, `POST ${path}`, { body: subscription });
    await one.stop();
    expect(foundInFiles(database, [one.apiKey ?? '', 'kb_demonstration'])).toEqual(['kb_demonstration']);
  });

  it('is not made when there is a seed, which has its own', async () => {
    expect((await startedSandbox({ seed: twoTenants })).apiKey).toBeUndefined();
  });
});

it(
  'continues to deliver while its disk is full, and writes its attempts when there is room',
  { tags: 'long' },
  async () => {
    const database = temporaryDatabase();
    const logs = new Logs();
    const pragma = vi.spyOn(BetterSqlite.prototype, 'pragma');
    const sandbox = await startedSandbox({ speed: 10_000, database, logger: logs.logger });
    const connection = pragma.mock.contexts[0] as BetterSqlite.Database;
    pragma.mockRestore();
    const { url, received } = await destination();
    await subscribed(sandbox, url);
    const calls = Array.from({ length: 50 }, () => sandbox.calls.begin({ scenario: 'completed' }));
    const pages = connection.pragma('page_count', { simple: true });
    connection.pragma(`max_page_count = ${String(pages)}`);
    await sandbox.deliveries.settled();
    expect(received.length).toBeGreaterThanOrEqual(calls.length);
    await expect.poll(() => logs.lines).toContainEqual(expect.objectContaining({ event: 'writes_failed' }));
    connection.pragma('max_page_count = 1000000');
    expect(sandbox.attempts.list()).toHaveLength(received.length);
    await sandbox.stop();
    const again = await startedSandbox({ database });
    expect(again.attempts.list()).toHaveLength(received.length);
  },
);

describe('a database that the sandbox must not use', () => {
  const opening = (database: string) => () => createSandbox({ database });

  it('is refused because another sandbox has it', async () => {
    const database = temporaryDatabase();
    const first = await startedSandbox({ database });
    expect(opening(database)).toThrow(
      /should be a SQLite file .* another process has it open, such as another sandbox\. Stop the other one,/,
    );
    await first.stop();
    await startedSandbox({ database });
  });

  it('is refused because a later version wrote it', async () => {
    const database = temporaryDatabase();
    await (await startedSandbox({ database })).stop();
    const connection = new BetterSqlite(database);
    connection.pragma('user_version = 99');
    connection.close();
    expect(opening(database)).toThrow(expect.objectContaining({ code: 'database_newer' }));
  });

  it("is refused because it is a receiver's inbox, which stays as it is", async () => {
    const database = temporaryDatabase();
    const receiver = createReceiver({ secrets: 'whsec_dGVzdA==', database, logger: { level: 'silent' } });
    await receiver.start();
    await receiver.stop();
    expect(opening(database)).toThrow(/not a database of Ringback's sandbox/);
    const again = createReceiver({ secrets: 'whsec_dGVzdA==', database, logger: { level: 'silent' } });
    await again.start();
    await again.stop();
  });

  it('is refused because it is no database', () => {
    const database = temporaryDatabase();
    writeFileSync(
      database,
      'This is a text, and long enough to be taken for the head of a file. '.repeat(20),
    );
    expect(opening(database)).toThrow(expect.objectContaining({ code: 'database_unreadable' }));
    expect(opening(`${database}/inside`)).toThrow(expect.objectContaining({ code: 'database_unreadable' }));
  });
});
