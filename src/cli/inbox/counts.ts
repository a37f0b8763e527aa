import type { Command } from 'commander';
import { databaseOption } from '../environment.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { printWhole } from './print.ts';

/** Adds `ringback inbox counts`. */
export function addCounts(inbox: Command): void {
  inbox
    .command('counts')
    .option(...databaseOption)
    .description(
      'print how many events, stored runs and deliveries in quarantine there are, by state, as JSON',
    )
    .action(async (flags: { readonly database?: string }) => {
      printWhole(await withInbox(inboxFile(flags), (store) => store.counts()));
    });
}
