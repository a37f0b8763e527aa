// @module-tag long
/** What `GET /readyz` of the real command says while the inbox can't be written. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { deliverTo } from '../../src/testing/deliver.ts';
import { buildDelivery } from '../../src/testing/delivery.ts';
import { folder, secret, serve } from './command.ts';

async function serving() {
  const cwd = folder();
  const command = serve([], { cwd });
  const url = await command.url();
  const readiness = async () => (await fetch(`${url}/readyz`)).status;
  const deliver = async () =>
    (await deliverTo(`${url}/webhooks`, buildDelivery('call-ended', { secret }))).status;
  return { command, database: join(cwd, 'ringback.db'), readiness, deliver };
}

test('it is 503 while another connection has locked the database, and 200 after that, without a delivery', async () => {
  const { database, readiness } = await serving();
  expect(await readiness()).toBe(200);
  const other = new Database(database);
  onTestFinished(() => void other.close());
  other.exec('begin immediate');
  // Who asks at the same time shares the answer.
  expect(await Promise.all([readiness(), readiness(), readiness()])).toEqual([503, 503, 503]);
  expect(await readiness()).toBe(503);
  other.exec('rollback');
  await expect.poll(readiness).toBe(200);
});

test('it is 503 once the database was deleted, without a delivery, and the log says why', async () => {
  const { command, database, readiness, deliver } = await serving();
  expect(await deliver()).toBe(200);
  expect(await readiness()).toBe(200);
  rmSync(database);
  expect(await readiness()).toBe(503);
  expect(await command.logged('database_replaced')).toMatchObject({
    level: 50,
    found: 'it was deleted or moved',
    msg: expect.stringContaining('start it again') as string,
  });
  expect(await deliver()).toBe(503);
  expect(command.stdout.match(/"event":"database_replaced"/g)).toHaveLength(1);
  expect((await command.stop()).code).toBe(0);
});
