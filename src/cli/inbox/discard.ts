import type { Command } from 'commander';
import { ringbackError } from '../../errors/errors.ts';
import { databaseOption } from '../environment.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { deliveryIdArgument } from './delivery-id.ts';
import { lookInto } from './looking.ts';
import { printResult } from './print.ts';

/** Adds `ringback inbox discard`. */
export function addDiscard(inbox: Command): void {
  inbox
    .command('discard')
    .option(...databaseOption)
    .description('remove a delivery from quarantine for good')
    .addArgument(deliveryIdArgument())
    .action(async (id: number, flags: { readonly database?: string }) => {
      const wasThere = await withInbox(inboxFile(flags), (store) => lookInto(store).quarantine.discard(id));
      if (!wasThere) throw ringbackError('quarantine_unknown', { id });
      await printResult({ discarded: id });
    });
}
