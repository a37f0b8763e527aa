import type { Command } from 'commander';
import { ringbackError } from '../../errors/errors.ts';
import type { Account } from '../../operate/audit.ts';
import type { DriftFinding } from '../../operate/drift.ts';
import type { EventFilter, InboxEvents } from '../../operate/events.ts';
import type { InboxEvent } from '../../operate/inbox-event.ts';
import { databaseName } from '../../receiver/database.ts';
import { accountOf, takesBy } from '../arguments.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { filterOf, takesFilter } from './filter.ts';
import { existingInbox, withInbox, withReceiver } from './existing-inbox.ts';
import {
  type PageQuery,
  printAll,
  printPages,
  printParts,
  printWhole,
  tableOf,
  takesLimit,
} from './print.ts';
import type { Column } from './table.ts';

const eventColumns: readonly Column<InboxEvent>[] = [
  ['arrived', ({ receivedAt }) => receivedAt],
  ['event', ({ eventName }) => eventName],
  ['state', ({ state, runs }) => (runs.some((run) => run.state === 'dead') ? 'dead' : state)],
  ['trace id', ({ traceId }) => traceId],
  ['call', ({ callId }) => callId],
  ['why', ({ runs }) => runs.find(({ reason }) => reason !== undefined)?.reason],
];

const countColumns: readonly Column<Record<'what' | 'state', string> & { readonly count: number }>[] = [
  ['what', ({ what }) => what],
  ['state', ({ state }) => state],
  ['how many', ({ count }) => count],
];

const driftColumns: readonly Column<DriftFinding>[] = [
  ['first seen', ({ firstSeenAt }) => firstSeenAt],
  ['last seen', ({ lastSeenAt }) => lastSeenAt],
  ['events', ({ count }) => count],
  ['event', ({ eventName }) => eventName],
  ['difference', ({ kind }) => kind],
  ['where', ({ path }) => path],
];

export function addCounts(inbox: Command): void {
  inbox
    .command('counts')
    .option(...databaseOption)
    .description(
      'print how many events, stored runs and deliveries in quarantine there are, by state (in a pipe, as a line of JSON)',
    )
    .action(async (flags: DatabaseFlag) => {
      const counts = await withInbox(await existingInbox(flags), (store) => store.counts());
      const rows = Object.entries<Readonly<Record<string, number>>>({ ...counts }).flatMap(([what, states]) =>
        Object.entries(states).map(([state, count]) => ({ what, state, count })),
      );
      await printParts(counts, [tableOf(rows, countColumns)]);
    });
}

interface EventsFlags extends EventFilter, DatabaseFlag {
  readonly limit?: number;
}

export function addEvents(inbox: Command): void {
  takesLimit(takesFilter(inbox.command('events')))
    .option(...databaseOption)
    .description(
      'print events, latest first, with their stored runs and without their bodies (in a pipe, as lines of JSON)',
    )
    .addHelpText('after', '\nDead letters, and why they are dead: ringback inbox events --state dead')
    .action(async (flags: EventsFlags) => {
      const filter = filterOf(flags);
      const read = async (events: InboxEvents, page: PageQuery) => {
        const { events: found, cursor } = await events.list({ ...filter, ...page });
        return { events: found.map(withDead), cursor };
      };
      const list = { nothing: 'no event matches', columns: eventColumns };
      await withReceiver(flags, ({ events }) =>
        printPages((page) => read(events, page), 'events', flags.limit, list),
      );
    });
}

export function addEvent(inbox: Command): void {
  takesBy(inbox.command('event'), 'who looks at it; stored in the audit list')
    .option(...databaseOption)
    .description('print one event as JSON: what was delivered, which is personal data, and its stored runs')
    .argument('<trace-id>', 'its trace id')
    .action(async (traceId: string, flags: DatabaseFlag & Account) => {
      const event = await withReceiver(flags, async ({ events, audit }, database) => {
        const found = await events.get(traceId);
        if (!found) throw ringbackError('event_unknown', { traceId, database: databaseName(database) });
        await audit.recordLook(traceId, accountOf(flags).by);
        return found;
      });
      const { raw: _, ...shown } = event;
      printWhole(withDead(shown));
    });
}

/** Adds whether an event has a dead letter: its state can be `done` all the same, because nothing is left to do. */
function withDead<Event extends InboxEvent>(event: Event): Event & { readonly dead: boolean } {
  return { dead: event.runs.some(({ state }) => state === 'dead'), ...event };
}

export function addDrift(inbox: Command): void {
  inbox
    .command('drift')
    .option(...databaseOption)
    .description(
      'print how events differ from their documentation, latest first (in a pipe, as lines of JSON)',
    )
    .action(async (flags: DatabaseFlag) => {
      await withReceiver(flags, async ({ drift }) => {
        await printAll(await drift.list(), { nothing: 'no differences are known', columns: driftColumns });
      });
    });
}
