import type { Command } from 'commander';
import { ringbackError } from '../../errors/errors.ts';
import { databaseOption } from '../environment.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { lookInto } from './looking.ts';
import { printWhole } from './print.ts';

/** Adds `ringback inbox call`. */
export function addCall(inbox: Command): void {
  inbox
    .command('call')
    .option(...databaseOption)
    .description('print one call as JSON: what its events tell of it, and which they are')
    .argument('<call-id>', 'its id')
    .action(async (callId: string, flags: { readonly database?: string }) => {
      const file = inboxFile(flags);
      const call = await withInbox(file, (store) => lookInto(store).calls.get(callId));
      if (call === undefined) throw ringbackError('call_unknown', { callId, database: file });
      printWhole(call);
    });
}
