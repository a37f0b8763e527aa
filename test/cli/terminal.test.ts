import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { withoutControls } from '../../src/cli/terminal.ts';
import { temporaryDatabase } from '../support/temporary.ts';
import { ringback } from './command.ts';

it('leaves nothing that a terminal would act on, and JSON the same', () => {
  const value = { body: '\u009b31m\u009d0;title\u009c\u007f\u202e\u{e0041} é 日本 😀', list: ['a\nb'] };
  const printed = withoutControls(JSON.stringify(value, undefined, 2));
  expect(printed).not.toMatch(/[^\P{C}\n]/v);
  expect(printed).toContain('é 日本 😀');
  expect(JSON.parse(printed)).toEqual(value);
  expect(withoutControls('not JSON\u001b[2J')).toBe(String.raw`not JSON\u001b[2J`);
});

/** A file whose damage SQLite tells in the words of whoever has made the file. */
function damagedDatabase(words: string): string {
  const file = temporaryDatabase();
  const database = new Database(file);
  database.unsafeMode(true);
  database.pragma('writable_schema = on');
  database
    .prepare(
      "insert into sqlite_schema (type, name, tbl_name, rootpage, sql) values ('table', ?, ?, 99999, ?)",
    )
    .run(words, words, 'create table x (');
  database.close();
  return file;
}

it.each(['inbox events', 'doctor'])('%s quotes nothing that a terminal would act on', async (command) => {
  const database = damagedDatabase('\u001b]0;owned\u0007\u009b31m\u202e');
  const { stdout, stderr } = await ringback([...command.split(' '), '--database', database]);
  expect(stdout + stderr).toContain('malformed database schema');
  expect(stdout + stderr).toContain('owned');
  expect(stdout + stderr).not.toMatch(/[^\P{C}\n]/v);
});
