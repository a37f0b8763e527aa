import type Database from 'better-sqlite3';
import type { Clock } from '../../../kit/clock.ts';
import type { StoreNotice } from '../../store-notice.ts';
import { prepareCallList } from '../query/call-list.ts';
import { prepareCallEvents } from '../query/call-events.ts';
import { prepareClaims } from '../work/claim.ts';
import { prepareCleaning } from '../admin/cleaning.ts';
import { CommitGroup, type GroupTies } from '../writer/commit-group.ts';
import { openDatabase } from './connection.ts';
import { DatabaseFiles } from './database-files.ts';
import { DueTime } from '../work/due-time.ts';
import { prepareDismissals } from '../query/dismissals.ts';
import { prepareDrift } from '../admin/drift.ts';
import { prepareErasure } from '../admin/erasure.ts';
import { prepareEventSearch } from '../query/event-search.ts';
import { prepareEvents } from '../query/events.ts';
import { prepareJoins } from '../work/joins.ts';
import { prepareKeepDelivery } from '../admin/keep-delivery.ts';
import { prepareOverview } from '../query/overview.ts';
import { Processes } from '../work/processes.ts';
import { prepareQuarantine } from '../admin/quarantine.ts';
import { prepareRecordOne } from '../work/record.ts';
import { prepareRemoval } from '../admin/removal.ts';
import { prepareReplays } from '../query/replays.ts';
import { prepareScrubbing } from '../admin/scrubbing.ts';
import { prepareSettling } from '../work/settle.ts';
import { TransactionWatch } from './transaction-watch.ts';
import { prepareUnblock } from '../work/unblock.ts';
import { UserStatements } from './user-statements.ts';

/** Everything that exists only while the database is open: its verbs, their statements prepared once. */
export interface OpenInbox {
  readonly database: Database.Database;
  /** Undefined for a database in memory. */
  readonly files: DatabaseFiles | undefined;
  readonly userStatements: UserStatements;
  readonly transactionWatch: TransactionWatch;
  readonly processes: Processes;
  readonly dueTime: DueTime;
  readonly callEvents: ReturnType<typeof prepareCallEvents>;
  readonly settling: ReturnType<typeof prepareSettling>;
  readonly unblock: ReturnType<typeof prepareUnblock>;
  readonly group: CommitGroup;
  readonly recordOne: ReturnType<typeof prepareRecordOne>;
  readonly keepDelivery: ReturnType<typeof prepareKeepDelivery>;
  readonly quarantine: ReturnType<typeof prepareQuarantine>;
  readonly drift: ReturnType<typeof prepareDrift>;
  readonly claims: ReturnType<typeof prepareClaims>;
  readonly joins: ReturnType<typeof prepareJoins>;
  readonly listCalls: ReturnType<typeof prepareCallList>;
  readonly overview: ReturnType<typeof prepareOverview>;
  readonly events: ReturnType<typeof prepareEvents>;
  readonly findEvents: ReturnType<typeof prepareEventSearch>;
  readonly replays: ReturnType<typeof prepareReplays>;
  readonly dismissals: ReturnType<typeof prepareDismissals>;
  readonly cleaning: ReturnType<typeof prepareCleaning>;
  readonly erasure: ReturnType<typeof prepareErasure>;
  readonly scrubbing: ReturnType<typeof prepareScrubbing>;
}

/** Opens the database and prepares its verbs. */
export function openInbox(
  file: string,
  clock: Clock,
  ties: GroupTies,
  report: (notice: StoreNotice) => void,
): OpenInbox {
  const database = openDatabase(file);
  const files = database.memory ? undefined : new DatabaseFiles(database, file);
  const processes = new Processes(database, files);
  const callEvents = prepareCallEvents(database);
  const dueTime = new DueTime(database, clock);
  const settling = prepareSettling(database, processes);
  const recordOne = prepareRecordOne(database, processes);
  const removal = prepareRemoval(database);
  return {
    database,
    files,
    userStatements: new UserStatements(database),
    transactionWatch: new TransactionWatch(database, (place) =>
      report({ kind: 'transaction_left_open', place }),
    ),
    processes,
    dueTime,
    callEvents,
    settling,
    unblock: prepareUnblock(database),
    group: new CommitGroup(database, clock, ties),
    recordOne,
    keepDelivery: prepareKeepDelivery(database),
    quarantine: prepareQuarantine(database, recordOne),
    drift: prepareDrift(database),
    claims: prepareClaims(database, processes, dueTime),
    joins: prepareJoins(database, { eventsOf: callEvents.eventsOf, dueTime, ...settling }),
    listCalls: prepareCallList(database, callEvents.eventsOf),
    overview: prepareOverview(database),
    events: prepareEvents(database, dueTime),
    findEvents: prepareEventSearch(database),
    replays: prepareReplays(database, dueTime),
    dismissals: prepareDismissals(database),
    cleaning: prepareCleaning(database, removal.remove),
    erasure: prepareErasure(database, removal),
    scrubbing: prepareScrubbing(database),
  };
}
