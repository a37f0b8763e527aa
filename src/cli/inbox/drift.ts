import type { Command } from 'commander';
import { databaseOption } from '../environment.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { lookInto } from './looking.ts';
import { printPages } from './print.ts';

/** Adds `ringback inbox drift`. */
export function addDrift(inbox: Command): void {
  inbox
    .command('drift')
    .option(...databaseOption)
    .description('print as lines of JSON how events differ from their documentation, latest first-seen first')
    .action(async (flags: { readonly database?: string }) => {
      await withInbox(inboxFile(flags), async (store) => {
        const { drift } = lookInto(store);
        // The table is bounded, so one page has all of it.
        const all = async () => ({ items: await drift.list(), cursor: undefined });
        await printPages(all, Infinity, 'no difference is known');
      });
    });
}
