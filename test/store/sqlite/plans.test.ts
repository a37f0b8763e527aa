import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { openedSqlite } from './opened-sqlite.ts';

/**
 * Scans of small tables, of one with a row for each 65,536 events, of tables that a statement makes itself, and of
 * indexes that have few runs.
 */
const short =
  /^SCAN (?:\(|CONSTANT ROW|counted|eras|handlers|identity_filters|waiting|w|claims|processes|\w+_totals|json_each|sqlite_schema|runs USING.* INDEX runs_(?:open_by_call|due|dead|blocked|failed)$)/v;

/** Searches whose cost grows with the number of runs, or of due runs, even if they are for one event or one call. */
const long = /USING PRIMARY KEY \(sequence[<>]|INDEX runs_due \(handler=\?\)$/v;

/** The query plans of all statements that a store prepares when it opens, step by step. */
async function plansOfAll(): Promise<Map<string, readonly string[]>> {
  const prepare = vi.spyOn(Database.prototype, 'prepare');
  onTestFinished(() => prepare.mockRestore());
  const store = await openedSqlite();
  const statements = new Set(prepare.mock.calls.map(([sql]) => sql));
  return new Map([...statements].map((sql) => [sql, planOf(store.database, sql)]));
}

function planOf(database: SqliteStore['database'], sql: string): readonly string[] {
  const names = [...sql.matchAll(/@(\w+)/gv)].map(([, name]) => [name, null]);
  const places = [...sql.matchAll(/\?/gv)].map(() => null);
  const values = names.length > 0 ? [Object.fromEntries(names)] : places;
  return (database.prepare(`explain query plan ${sql}`).all(...values) as { detail: string }[]).map(
    ({ detail }) => detail,
  );
}

/** Lists that are short, or end at their limit. */
const listed = /from (?:quarantine|drift|audit|alerts|failure_groups|paused_handlers)\b/v;

test('no statement of the store scans what grows with the inbox', async () => {
  const plans = await plansOfAll();
  const steps = [...plans].flatMap(([sql, plan]) => plan.map((step) => ({ sql, step })));
  const slow = steps.filter(({ sql, step }) => {
    if (listed.test(sql)) return false;
    // The least or greatest of those that a condition leaves: it goes from row to row until it meets one.
    if (step === 'SEARCH events' && /from events where/v.test(sql)) return true;
    return (step.startsWith('SCAN') && !short.test(step)) || (sql.includes('call_id') && long.test(step));
  });
  expect(slow).toEqual([]);
  expect(steps.length).toBeGreaterThan(100);
});

test('no statement that ends early scans a whole call or all runs of a handler before', async () => {
  const plans = await plansOfAll();
  const bounded = [...plans].filter(([sql]) => /\blimit \d+\s*$/v.test(sql));
  const gathering = bounded.filter(
    ([sql, plan]) =>
      /@callId|\bhandler = cast/v.test(sql) &&
      plan.some((step) => /^(?:LIST SUBQUERY|MATERIALIZE of_call|USE TEMP)/v.test(step)),
  );
  expect(gathering).toEqual([]);
  expect(bounded.length).toBeGreaterThan(5);
});

test('no statement asks for the least and the greatest at once, which goes through all that is between', async () => {
  const statements = [...(await plansOfAll()).keys()];
  expect(statements.filter((sql) => /select min\([^\(\)]*\)[^\(\)]*, max\(/v.test(sql))).toEqual([]);
  expect(statements.filter((sql) => sql.includes('select max(')).length).toBeGreaterThan(5);
});

test('no statement goes through all that has arrived since a time', async () => {
  const plans = await plansOfAll();
  const sinceThen = [...plans].filter(([, plan]) => plan.some((step) => step.includes('(received_at>?)')));
  expect(sinceThen.map(([sql]) => sql).filter((sql) => !sql.includes('limit'))).toEqual([]);
  expect(sinceThen.length).toBeGreaterThan(2);
});

test('of the open runs of a call only one is asked for', async () => {
  const ofCall = /from runs indexed by runs_\w+_by_call\s+where call_id = cast\(@callId as text\)/v;
  const asking = [...(await plansOfAll()).keys()].filter((sql) => ofCall.test(sql));
  // `min(handler)` reads only the next entry of the index.
  const first = /^\s*select 1 |min\(handler\)|limit 1\s*$/v;
  expect(asking.filter((sql) => !first.test(sql))).toEqual([]);
  expect(asking.length).toBeGreaterThan(3);
});
