import type { Command } from 'commander';
import { inboxFile, takesDatabase, withInbox } from '../inbox-file.ts';
import { lookInto } from './looking.ts';
import { printPages, takesLimit } from './print.ts';

interface QuarantineFlags {
  readonly database?: string;
  readonly limit?: number;
}

/** Adds `ringback inbox quarantine`. */
export function addQuarantine(inbox: Command): void {
  takesDatabase(takesLimit(inbox.command('quarantine')))
    .description('print the deliveries in quarantine as lines of JSON, latest first, without their bodies')
    .action(async ({ database, limit: most }: QuarantineFlags) => {
      await withInbox(inboxFile(database), async (store) => {
        const { quarantine } = lookInto(store);
        await printPages(async (cursor, limit) => {
          const page = await quarantine.list({ limit, ...(cursor !== undefined && { cursor }) });
          return { items: page.deliveries, cursor: page.cursor };
        }, most);
      });
    });
}
