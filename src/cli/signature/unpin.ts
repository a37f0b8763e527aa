import type { Command } from 'commander';
import { databaseName } from '../../receiver/database.ts';
import { databaseOption } from '../environment.ts';
import { existingInbox, withInbox } from '../inbox/existing-inbox.ts';

interface UnpinFlags {
  readonly database?: string;
  readonly yes?: true;
}

export function addUnpin(signature: Command): void {
  signature
    .command('unpin')
    .option(...databaseOption)
    .description('show the scheme that is pinned in the inbox, and with --yes unpin it')
    .option('--yes', 'unpin it: the next new event pins its own scheme')
    .addHelpText('after', '\nA running receiver takes note at the next delivery that it would refuse.')
    .action(async (flags: UnpinFlags) => {
      process.stdout.write(`${await unpin(await existingInbox(flags), flags.yes === true)}\n`);
    });
}

async function unpin(database: string, isMeant: boolean): Promise<string> {
  const scheme = await withInbox(database, (store) => (isMeant ? store.unpinScheme() : store.pinnedScheme()));
  if (scheme === undefined) return `No scheme is pinned in ${databaseName(database)}.`;
  return isMeant
    ? `The scheme ${scheme} is no longer pinned. The next new event pins a scheme again.`
    : `The scheme ${scheme} is pinned in ${databaseName(database)}. To unpin it, add --yes.`;
}
