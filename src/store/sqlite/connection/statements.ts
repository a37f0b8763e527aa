import type Database from 'better-sqlite3';
import { prepareCleaning } from '../admin/cleaning.ts';
import { prepareDrift } from '../admin/drift.ts';
import { prepareErasure } from '../admin/erasure.ts';
import { preparePinnedScheme } from '../admin/pinned-scheme.ts';
import { prepareQuarantine } from '../admin/quarantine.ts';
import { prepareRemoval } from '../admin/removal.ts';
import { prepareScrubbing } from '../admin/scrubbing.ts';
import { EarlierIdentities } from '../dedupe/eras.ts';
import { prepareCallList, prepareCallEvents } from '../query/call-list.ts';
import { prepareDismissals } from '../query/dismissals.ts';
import { prepareEventSearch } from '../query/event-search.ts';
import { prepareEvents } from '../query/events.ts';
import { prepareHandlers } from '../query/handlers.ts';
import { prepareOverview } from '../query/overview.ts';
import { prepareFailures } from '../work/failures.ts';
import { prepareAlerts } from '../query/alerts.ts';
import { prepareHistory } from '../query/history.ts';
import { prepareAudit } from '../query/audit.ts';
import { prepareReplays } from '../query/replays.ts';
import { prepareClaims } from '../work/claim.ts';
import { prepareDueTimes } from '../work/clock-jumps.ts';
import { prepareDuplicates } from '../work/duplicates.ts';
import { prepareJoins } from '../work/joins.ts';
import { prepareMembership } from '../work/membership.ts';
import { prepareNotedWal } from '../work/noted-wal.ts';
import { Processes } from '../work/processes.ts';
import { prepareRecord } from '../work/record.ts';
import { prepareSettling } from '../work/settle.ts';
import { prepareUnblock } from '../work/unblock.ts';

/** All reads and writes of the inbox through one connection, in parts. */
export type Statements = ReturnType<typeof prepareStatements>;

export type Part = keyof Statements;

/**
 * The names of a part's methods. Those that write are called by name on the writer, in a transaction that they mostly
 * share with other writes. Their arguments and results are sent between threads, so they are plain data.
 */
export type MethodOf<P extends Part> = keyof Statements[P] & string;

type Method<P extends Part, M extends MethodOf<P>> = Extract<Statements[P][M], (...args: never[]) => unknown>;

export type ArgsOf<P extends Part, M extends MethodOf<P>> = Parameters<Method<P, M>>;

export type ResultOf<P extends Part, M extends MethodOf<P>> = ReturnType<Method<P, M>>;

/**
 * Prepares the statements of a connection, once. That changes nothing, and fails if tables were changed.
 *
 * @param id The id under which the process has entered through this connection
 */
export function prepareStatements(database: Database.Database, id = 0) {
  const processes = new Processes(database, id);
  const earlier = new EarlierIdentities(database);
  const callEvents = prepareCallEvents(database);
  const audit = prepareAudit(database);
  const settling = prepareSettling(database);
  const record = prepareRecord(database, processes, earlier);
  const removal = prepareRemoval(database);
  const scrubbing = prepareScrubbing(database);
  const claims = prepareClaims(database, processes);
  const dueTimes = prepareDueTimes(database);
  const notedWal = prepareNotedWal(database);
  return {
    processes,
    earlier,
    notedWal,
    record,
    settling,
    callEvents,
    dueTimes,
    disk: prepareDisk(database),
    unblock: prepareUnblock(database),
    claims,
    membership: prepareMembership({ processes, notedWal, claims, dueTimes }),
    joins: prepareJoins(database, settling),
    pinnedScheme: preparePinnedScheme(database),
    quarantine: prepareQuarantine(database, record),
    drift: prepareDrift(database),
    duplicates: { add: prepareDuplicates(database, earlier) },
    listCalls: prepareCallList(database, callEvents.eventsOf),
    overview: prepareOverview(database),
    handlers: prepareHandlers(database),
    events: prepareEvents(database),
    findEvents: prepareEventSearch(database),
    audit,
    history: prepareHistory(database),
    alerts: prepareAlerts(database),
    failures: prepareFailures(database),
    replays: prepareReplays(database, audit),
    dismissals: prepareDismissals(database, audit),
    cleaning: prepareCleaning(database, removal.remove),
    erasure: prepareErasure(database, { ...removal, wantScrubbing: scrubbing.want }),
    scrubbing,
  };
}

/** Asks the disk. `probe` asks only whether a transaction can begin. */
function prepareDisk(database: Database.Database) {
  // A commit without any change is not synced.
  const touch = database.prepare(
    "insert into settings values ('synced', '') on conflict do update set value = ''",
  );
  return {
    /** Has the commit synced, and with it everything committed before. */
    sync: (): void => void touch.run(),
    probe(): void {},
  };
}
