/** What a receiver says when the database refuses its user: neither the user nor the password. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { bodyOf, deliver, secret } from '../../support/deliveries.ts';
import { Logs } from '../../support/logs.ts';
import { ownPostgres } from '../../support/postgres.ts';
import { createReceiver } from '../../support/public.ts';
import { deliverUntilTaken } from '../../support/receiver.ts';

const [user, password] = ['ada_of_the_test', 'hunter2_of_the_test'];
const secrets = new RegExp(`${user}|hunter2`);

/** A server that asks this user for a password. */
async function guarded() {
  const server = await ownPostgres();
  const admin = new Client({ connectionString: server.url });
  await admin.connect();
  onTestFinished(() => admin.end());
  await admin.query(`create role ${user} login password '${password}'`);
  await admin.query(`grant create on database postgres to ${user}`);
  const rules = ['host all postgres 127.0.0.1/32 trust', 'host all all 127.0.0.1/32 scram-sha-256'];
  writeFileSync(join(server.dataFolder, 'pg_hba.conf'), `${rules.join('\n')}\n`);
  await admin.query('select pg_reload_conf()');
  const urlWith = (given: string) =>
    Object.assign(new URL(server.url), { username: user, password: given }).href;
  return { admin, urlWith };
}

function receiverOn(database: string) {
  const logs = new Logs();
  const receiver = createReceiver({ secrets: secret, database, logger: logs.logger });
  onTestFinished(() => receiver.stop({ drain: 0 }));
  receiver.on('*', { name: 'crm' }, () => {});
  return { receiver, logs };
}

test('a database that refuses the password is reported with a sentence, without the credentials', async () => {
  const { urlWith } = await guarded();
  const { receiver, logs } = receiverOn(urlWith(`wrong_${password}`));
  const refused: unknown = await receiver.start().catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 'database_unreachable',
    message: expect.stringContaining('it refused the user or its password'),
  });
  expect(String(refused)).not.toMatch(secrets);
  expect(JSON.stringify(logs.lines)).not.toMatch(secrets);
});

test.each([`password authentication failed for user "${user}"`, `no such user: ${user}`])(
  'a pooler that refuses the user is reported without the user: %s',
  async (message) => {
    const refusal = Buffer.from(`E    SFATAL\0C08P01\0M${message}\0\0`);
    refusal.writeUInt32BE(refusal.length - 1, 1);
    const pooler = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(refusal));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void pooler.close());
    await once(pooler, 'listening');
    const { port } = pooler.address() as AddressInfo;
    const { receiver, logs } = receiverOn(`postgres://${user}:${password}@127.0.0.1:${port}/app`);
    const refused: unknown = await receiver.start().catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'database_unreachable',
      message: expect.stringContaining(message.slice(0, 12)),
    });
    expect(String(refused)).not.toMatch(secrets);
    expect(JSON.stringify(logs.lines)).not.toMatch(secrets);
  },
);

test(
  'a password that is changed under a running receiver stays out of its log, and it goes on with the next',
  { tags: 'long' },
  async () => {
    const { admin, urlWith } = await guarded();
    const { receiver, logs } = receiverOn(urlWith(password));
    await receiver.start();
    await deliverUntilTaken(receiver, bodyOf());
    const change = async (to: string) => {
      await admin.query(`alter role ${user} password '${to}'`);
      await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [user]);
    };
    await change('another');
    const body = bodyOf();
    // The first may still meet a connection that has just been ended.
    const refusedDelivery = async () => {
      await deliver(receiver, body);
      return logs.of('delivery_failed').some(({ cause }) => /password/.test(String(cause)));
    };
    await expect.poll(refusedDelivery).toBe(true);
    const refused: unknown = await receiver.counts().catch((error: unknown) => error);
    // Whoever looks for work is refused, too.
    await logs.until('dispatch_failed');
    await change(password);
    await deliverUntilTaken(receiver, body);
    await logs.until('run_done', 2);
    expect(refused).toMatchObject({ code: 'database_unreachable' });
    expect(String(refused)).not.toMatch(secrets);
    expect(JSON.stringify(logs.lines)).not.toMatch(secrets);
  },
);
