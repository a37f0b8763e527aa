import type Database from 'better-sqlite3';
import {
  type LastNumbers,
  type MoveTarget,
  type Progress,
  progressSetting,
  requireUnchanged,
  stateOf,
} from '../../shared/move.ts';
import { type KeptRow, type KeptTable, columnNames } from '../../shared/kept-tables.ts';
import { eraOf } from '../dedupe/eras.ts';
import { callKey } from '../../event-record.ts';
import { type SequenceTotals, prepareCallIndex } from '../work/call-index.ts';
import { contentsOf, numbersOf } from './move-source.ts';

/** The era of identities without an event: before all others, so that each write of an event searches it. */
const eraOfTombstones = -1;

/** A database to move to. */
export function targetOn(database: Database.Database, name: string, refuseUse: () => void): MoveTarget {
  const writeRow = prepareRows(database);
  const endEvents = prepareTotals(database);
  const keepProgress = database.prepare(
    `insert into settings values ('${progressSetting}', ?) on conflict do update set value = excluded.value`,
  );
  let state: string | undefined;
  const requireSame = () => {
    // A receiver may have started since the move began, when the inbox was empty.
    refuseUse();
    requireUnchanged(name, state, stateOf(progressOf(database), numbersOf(database)));
  };
  const write = database.transaction((table: KeptTable, rows: readonly KeptRow[], stored: string) => {
    requireSame();
    let added = 0;
    for (const row of rows) added += writeRow[table](row);
    if (table === 'events') endEvents(added, Number(rows.at(-1)?.[0] ?? 0));
    keepProgress.run(stored);
  });

  return {
    name,
    contents: () => contentsOf(database),
    async progress() {
      const found = progressOf(database);
      state = stateOf(found, numbersOf(database));
      return found === undefined ? undefined : (JSON.parse(found) as Progress);
    },
    async write(table, rows, progress) {
      const stored = JSON.stringify(progress);
      write.immediate(table, rows, stored);
      state = stored;
    },
    finish: async (numbers) => finish(database, numbers, requireSame),
  };
}

/** The stored progress of an unfinished move to this database. */
export function progressOf(database: Database.Database): string | undefined {
  return database.prepare('select value from settings where name = ?').pluck().get(progressSetting) as
    | string
    | undefined;
}

/** Functions that add a row to each table, and return the number of rows added. */
function prepareRows(database: Database.Database): Readonly<Record<KeptTable, (row: KeptRow) => number>> {
  const inserting = (table: KeptTable, more: readonly string[] = []) => {
    const columns = [...columnNames(table), ...more];
    const statement = database.prepare(
      `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})
       on conflict do nothing`,
    );
    return (row: KeptRow): number => statement.run(...row).changes;
  };
  const event = inserting('events', ['call_key']);
  const identity = inserting('identities', ['era']);
  const insertWaiting = database.prepare('insert into waiting values (?) on conflict do nothing');
  const setDropped = database.prepare('update quarantine_totals set dropped = ? where kind = ?');

  return {
    events: (row) => event([...row, callKeyOf(row)]),
    bodies: inserting('bodies'),
    identities: (row) => identity([...row, row[1] === null ? eraOfTombstones : eraOf(Number(row[1]))]),
    waiting: ([sequence]) => insertWaiting.run(sequence).changes,
    crash_counts: inserting('crash_counts'),
    duplicates: inserting('duplicates'),
    runs: inserting('runs'),
    failures: inserting('failures'),
    failure_groups: inserting('failure_groups'),
    joins: inserting('joins'),
    quarantine: inserting('quarantine'),
    quarantine_totals: ([kind, dropped]) => setDropped.run(dropped, kind).changes,
    drift: inserting('drift'),
    audit: inserting('audit'),
    paused_handlers: inserting('paused_handlers'),
    settings: inserting('settings'),
  };
}

function callKeyOf(row: KeptRow): number | null {
  const callId = row[3];
  return typeof callId === 'string' ? callKey(callId) : null;
}

/** Counts events, and adds them to the index of calls, as recording does. */
function prepareTotals(database: Database.Database) {
  const add = database.prepare(`
    update event_totals set events = events + ?, last_sequence = max(last_sequence, ?)
    returning last_sequence as last, indexed_sequence as indexed`);
  const indexCalls = prepareCallIndex(database);
  return (added: number, last: number): void => {
    // The last page may have no rows.
    if (last > 0) indexCalls(add.get(added, last) as SequenceTotals);
  };
}

function finish(
  database: Database.Database,
  { events, ...numbers }: LastNumbers,
  requireSame: () => void,
): void {
  const setEvents = database.prepare('update event_totals set last_sequence = max(last_sequence, ?)');
  const addTable = database.prepare(
    'insert into sqlite_sequence select @table, 0 where not exists (select 1 from sqlite_sequence where name = @table)',
  );
  const setLast = database.prepare('update sqlite_sequence set seq = max(seq, @last) where name = @table');
  const forget = database.prepare(`delete from settings where name = '${progressSetting}'`);
  database
    .transaction(() => {
      requireSame();
      setEvents.run(events);
      for (const [table, last] of Object.entries(numbers)) {
        addTable.run({ table });
        setLast.run({ table, last });
      }
      forget.run();
    })
    .immediate();
}
