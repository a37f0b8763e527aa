import type { Command } from 'commander';
import { ringbackError } from '../../errors/errors.ts';
import { databaseOption } from '../environment.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { lookInto } from './looking.ts';
import { printWhole } from './print.ts';
import { withDead } from './with-dead.ts';

/** Adds `ringback inbox event`. */
export function addEvent(inbox: Command): void {
  inbox
    .command('event')
    .option(...databaseOption)
    .description('print one event as JSON: what was delivered, which is personal data, and its stored runs')
    .argument('<trace-id>', 'its trace id')
    .action(async (traceId: string, flags: { readonly database?: string }) => {
      const file = inboxFile(flags);
      const event = await withInbox(file, (store) => lookInto(store).events.get(traceId));
      if (event === undefined) throw ringbackError('event_unknown', { traceId, database: file });
      printWhole(withDead(event));
    });
}
