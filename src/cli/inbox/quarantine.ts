import type { Command } from 'commander';
import { databaseOption } from '../environment.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { lookInto } from './looking.ts';
import { printPages, takesLimit } from './print.ts';

interface QuarantineFlags {
  readonly database?: string;
  readonly limit?: number;
}

/** Adds `ringback inbox quarantine`. */
export function addQuarantine(inbox: Command): void {
  takesLimit(inbox.command('quarantine'))
    .option(...databaseOption)
    .description('print the deliveries in quarantine as lines of JSON, latest first, without their bodies')
    .action(async (flags: QuarantineFlags) => {
      await withInbox(inboxFile(flags), async (store) => {
        const { quarantine } = lookInto(store);
        await printPages(async (cursor, limit) => {
          const page = await quarantine.list({ limit, ...(cursor !== undefined && { cursor }) });
          return { items: page.deliveries, cursor: page.cursor };
        }, flags.limit);
      });
    });
}
