import type { Command } from 'commander';
import type { EventFilter } from '../../operate/events.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { databaseOption } from '../environment.ts';
import { filterOf, takesFilter } from './filter.ts';
import { lookInto } from './looking.ts';
import { printPages, takesLimit } from './print.ts';
import { withDead } from './with-dead.ts';

interface EventsFlags extends EventFilter {
  readonly database?: string;
  readonly limit?: number;
}

/** Adds `ringback inbox events`. */
export function addEvents(inbox: Command): void {
  takesLimit(takesFilter(inbox.command('events')))
    .option(...databaseOption)
    .description(
      'print events as lines of JSON, latest first, with their stored runs and without their bodies',
    )
    .addHelpText('after', '\nDead letters, and why they are dead: ringback inbox events --state dead')
    .action(async (flags: EventsFlags) => {
      const filter = filterOf(flags);
      await withInbox(inboxFile(flags), async (store) => {
        const { events } = lookInto(store);
        await printPages(
          async (cursor, limit) => {
            const page = await events.list({ ...filter, limit, cursor });
            return { items: page.events.map(withDead), cursor: page.cursor };
          },
          flags.limit,
          'no event matches',
        );
      });
    });
}
