import type Database from 'better-sqlite3';
import type { Clock } from '../../kit/clock.ts';
import { prepareCallList } from './call-list.ts';
import { prepareCallRecords } from './call-records.ts';
import { prepareClaims } from './claim.ts';
import { CommitGroup } from './commit-group.ts';
import { openDatabase } from './connection.ts';
import { prepareJoins } from './joins.ts';
import { prepareOverview } from './overview.ts';
import { Processes } from './processes.ts';
import { prepareQuarantine } from './quarantine.ts';
import { prepareRecord } from './record.ts';
import { prepareSettling } from './settle.ts';

/** Everything that exists only while the database is open: its verbs, their statements prepared once. */
export type Parts = ReturnType<typeof openParts>;

/** Opens the database and prepares its verbs. */
export function openParts(file: string, clock: Clock) {
  const database: Database.Database = openDatabase(file);
  const processes = new Processes(database, clock);
  const callRecords = prepareCallRecords(database);
  const settling = prepareSettling(database, processes);
  return {
    database,
    processes,
    callRecords,
    settling,
    group: new CommitGroup(database, clock),
    record: prepareRecord(database, callRecords.update),
    quarantine: prepareQuarantine(database),
    claims: prepareClaims(database, processes),
    joins: prepareJoins(database, { eventsOf: callRecords.eventsOf, ...settling }),
    listCalls: prepareCallList(database, callRecords.eventsOf),
    overview: prepareOverview(database),
  };
}
