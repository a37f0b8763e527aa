import type { Command } from 'commander';
import type { Account } from '../../operate/audit.ts';
import { unpinScheme } from '../../operate/quarantine/scheme-change.ts';
import { databaseName } from '../../receiver/database.ts';
import { internalsOf } from '../../receiver/receiver.ts';
import { accountOf, takesAccount } from '../arguments.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { withReceiver } from '../inbox/existing-inbox.ts';

interface UnpinFlags extends Account, DatabaseFlag {
  readonly yes?: true;
}

export function addUnpin(signature: Command): void {
  takesAccount(signature.command('unpin'))
    .option(...databaseOption)
    .description('show the scheme that is pinned in the inbox, and with --yes unpin it')
    .option('--yes', 'unpin it: the next new event pins its own scheme')
    .addHelpText('after', '\nA running receiver takes note at the next delivery that it would refuse.')
    .action(async (flags: UnpinFlags) => {
      process.stdout.write(`${await unpin(flags)}\n`);
    });
}

async function unpin({ yes, ...flags }: UnpinFlags): Promise<string> {
  return withReceiver(flags, async (receiver, database) => {
    const { gated: store, audit } = internalsOf(receiver).parts;
    const scheme = yes ? await unpinScheme({ store, audit }, accountOf(flags)) : await store.pinnedScheme();
    if (scheme === undefined) return `No scheme is pinned in ${databaseName(database)}.`;
    return yes
      ? `The scheme ${scheme} is no longer pinned. The next new event pins a scheme again, once a running receiver has noticed: at the next delivery that it would refuse.`
      : `The scheme ${scheme} is pinned in ${databaseName(database)}. To unpin it, add --yes.`;
  });
}
