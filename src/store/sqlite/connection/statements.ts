import type Database from 'better-sqlite3';
import { prepareCleaning } from '../admin/cleaning.ts';
import { prepareDrift } from '../admin/drift.ts';
import { prepareErasure } from '../admin/erasure.ts';
import { prepareKeepDelivery } from '../admin/keep-delivery.ts';
import { preparePinnedScheme } from '../admin/pinned-scheme.ts';
import { prepareQuarantine } from '../admin/quarantine.ts';
import { prepareRemoval } from '../admin/removal.ts';
import { prepareScrubbing } from '../admin/scrubbing.ts';
import type { EarlierIdentities } from '../dedupe/eras.ts';
import { prepareCallEvents } from '../query/call-events.ts';
import { prepareCallList } from '../query/call-list.ts';
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
import { prepareNotedWal } from '../work/noted-wal.ts';
import type { Processes } from '../work/processes.ts';
import { prepareRecord } from '../work/record.ts';
import { prepareSettling } from '../work/settle.ts';
import { prepareUnblock } from '../work/unblock.ts';

/** All reads and writes of the inbox through one connection. */
export type Statements = ReturnType<typeof prepareStatements>;

/** Prepares the statements of a connection, once. */
export function prepareStatements(
  database: Database.Database,
  processes: Processes,
  earlier: EarlierIdentities,
) {
  const callEvents = prepareCallEvents(database);
  const audit = prepareAudit(database);
  const settling = prepareSettling(database, processes);
  const record = prepareRecord(database, processes, earlier);
  const removal = prepareRemoval(database);
  return {
    processes,
    notedWal: prepareNotedWal(database),
    record,
    settling,
    callEvents,
    dueTimes: prepareDueTimes(database),
    unblock: prepareUnblock(database),
    claims: prepareClaims(database, processes),
    joins: prepareJoins(database, settling),
    pinnedScheme: preparePinnedScheme(database),
    keepDelivery: prepareKeepDelivery(database),
    quarantine: prepareQuarantine(database, record),
    drift: prepareDrift(database),
    addDuplicates: prepareDuplicates(database, earlier),
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
    erasure: prepareErasure(database, removal),
    scrubbing: prepareScrubbing(database),
  };
}
