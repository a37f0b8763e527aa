/** How a database is brought to the schema of this version, with schemas that don't exist yet. */
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { migrate, migrations } from '../../../src/store/sqlite/connection/migrations/migrate.ts';

const next = [...migrations, "alter table events add column tone text not null default 'calm'"];
const broken = [...next, 'create table notes (text); alter table missing add column more text'];

/** A database of the present schema with one event. */
function inbox(): Database.Database {
  const database = new Database(':memory:');
  onTestFinished(() => void database.close());
  migrate(database, 'inbox.db');
  database.exec("insert into events values (1, 'a', 'b', null, null, null, null, 0, 0, '{}', null)");
  return database;
}

const versionOf = (database: Database.Database) => database.pragma('user_version', { simple: true });

test('an older database is migrated, and keeps its data', () => {
  const database = inbox();
  expect(versionOf(database)).toBe(migrations.length);
  migrate(database, 'inbox.db', next);
  expect(versionOf(database)).toBe(next.length);
  expect(database.prepare('select trace_id, tone from events').all()).toEqual([
    { trace_id: 'a', tone: 'calm' },
  ]);
  migrate(database, 'inbox.db', next);
  expect(database.prepare('select count(*) from events').pluck().get()).toBe(1);
});

test('a new database runs all migrations', () => {
  const database = new Database(':memory:');
  onTestFinished(() => void database.close());
  migrate(database, 'inbox.db', next);
  expect(versionOf(database)).toBe(next.length);
});

test('a failed migration leaves the database as it was', () => {
  const database = inbox();
  const before = database.serialize();
  expect(() => migrate(database, 'inbox.db', broken)).toThrow('no such table: missing');
  expect(database.serialize()).toEqual(before);
});
