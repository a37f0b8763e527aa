// @module-tag long
/** What a database is set to, beyond what every test's server is: what can't hold an inbox is refused, all else makes no difference. */
import { types } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { postgres } from '../../../src/store/postgres/index.ts';
import { bodyOf, secret } from '../../support/deliveries.ts';
import { ownPostgres, testDatabase, withClient } from '../../support/postgres.ts';
import { createReceiver } from '../../support/public.ts';
import { deliverUntilTaken } from '../../support/receiver.ts';

function receiverOn(connectionString: string, schema = 'ringback') {
  const database = postgres({ connectionString, schema });
  const receiver = createReceiver({ secrets: secret, database, logger: { level: 'silent' } });
  onTestFinished(() => receiver.stop({ drain: 0 }));
  return receiver.on('*', () => {});
}

// In LATIN1, an event with a name in Greek would be refused for ever; in SQL_ASCII, one with U+0000 made the view of calls fail.
test.each(['LATIN1', 'SQL_ASCII'])(
  'a database whose encoding is %s is refused with a sentence, and nothing is made',
  async (encoding) => {
    const { url } = await ownPostgres();
    await withClient(url, (client) =>
      client.query(`create database app encoding '${encoding}' template template0 locale 'C'`),
    );
    const app = Object.assign(new URL(url), { pathname: '/app' }).href;
    await expect(receiverOn(app).start()).rejects.toMatchObject({
      code: 'database_encoding',
      message: expect.stringContaining(`has ${encoding}, in which some deliveries could never be stored`),
    });
    await withClient(app, async (client) => {
      const { rowCount } = await client.query("select from pg_namespace where nspname = 'ringback'");
      expect(rowCount).toBe(0);
    });
  },
);

test('a backslash in a string may be an escape: calls are listed all the same', async () => {
  const { connectionString, schema } = await testDatabase();
  const url = new URL(connectionString);
  url.searchParams.set('options', '-c standard_conforming_strings=off');
  const receiver = receiverOn(url.href, schema);
  await receiver.start();
  const eventName = 'CallHandler.CallTransferred';
  const payload = { transfer_to: 'a\u0000b\\u0000c' };
  await deliverUntilTaken(receiver, bodyOf({ eventName, callId: 'call-1', payload }));
  await withClient(url.href, async (client) => {
    const { rows } = await client.query(`select call_id, transfer_destination from ${schema}.calls`);
    expect(rows).toEqual([{ call_id: 'call-1', transfer_destination: 'a\ufffdb\\u0000c' }]);
  });
});

test('a database that publishes all tables, as for change data capture, is served as any other', async () => {
  const { url } = await ownPostgres();
  await withClient(url, (client) => client.query('create publication everything for all tables'));
  await expectRetried({ connectionString: url, schema: 'ringback' });
  // Kept from being truncated, so that rows are deleted.
  await withClient(url, async (client) => {
    await client.query('insert into ringback.ended select 0, n, n from generate_series(1, 2000) as n');
    await client.query('begin; lock table ringback.ended in access share mode');
    await withClient(url, (other) => other.query('select ringback.clear_ended()'));
    const { rowCount } = await client.query('select from ringback.ended where process = 0');
    expect(rowCount).toBe(0);
  });
});

const oids = {
  bool: 16,
  bytea: 17,
  int8: 20,
  int4: 23,
  json: 114,
  'int4[]': 1007,
  'int8[]': 1016,
  'text[]': 1009,
};

test('an app that has the driver read types in its own way is served as any other', async () => {
  for (const oid of Object.values(oids)) {
    const before: unknown = types.getTypeParser(oid);
    onTestFinished(() => types.setTypeParser(oid, before as (text: string) => unknown));
    types.setTypeParser(oid, (text: string) => `its own: ${text}`);
  }
  await expectRetried(await testDatabase());
});

test('bytes are read wherever `bytea_output` is `escape`', async () => {
  const { connectionString, schema } = await testDatabase();
  const url = new URL(connectionString);
  url.searchParams.set('options', '-c bytea_output=escape');
  await expectRetried({ connectionString: url.href, schema });
});

/** The second attempt has what the database keeps. */
async function expectRetried(place: { readonly connectionString: string; readonly schema: string }) {
  const receiver = receiverOn(place.connectionString, place.schema);
  const seen: unknown[] = [];
  receiver.on('*', { name: 'failing', retry: { base: 1 } }, ({ payload }, { attempt }) => {
    seen.push(payload);
    if (attempt === 1) throw new Error('tried');
  });
  await receiver.start();
  const payload = { note: 'a\\bé\\101\u0000' };
  await deliverUntilTaken(receiver, bodyOf({ traceId: 'trace-1', payload }));
  const runs = async () => (await receiver.events.get('trace-1'))?.runs ?? [];
  const failing = { handler: 'failing', state: 'done', attempts: 2 };
  await expect.poll(runs).toContainEqual(expect.objectContaining(failing));
  expect(seen).toMatchObject([payload, payload]);
}
