import { type Command, Option } from 'commander';
import type { Account } from '../../operate/audit.ts';
import { mentionsOfPhoneNumber } from '../../operate/erasure/person-mentions.ts';
import { accountOf, argument, takesAccount } from '../arguments.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { withReceiver } from './existing-inbox.ts';
import { remark } from '../stderr.ts';
import { printResult } from './print.ts';

interface EraseFlags extends Account, DatabaseFlag {
  readonly callId?: string;
  readonly phoneNumber?: string;
  readonly yes?: true;
}

export function addErase(inbox: Command): void {
  const byCall = new Option('--call-id <id>', 'erase this call');
  const byPhoneNumber = new Option('--phone-number <number>', 'erase every call that names this number');
  takesAccount(inbox.command('erase'))
    .addOption(byCall.conflicts('phoneNumber'))
    .addOption(byPhoneNumber.argParser(argument('a phone number of at least 7 digits', readPhoneNumber)))
    .option(...databaseOption)
    .option('--yes', "erase it; this can't be undone")
    .description(
      'show what would be erased, and with --yes erase it: a call, or everything that names a phone number',
    )
    .action(async (flags: EraseFlags, command: Command): Promise<void> => {
      const { callId, phoneNumber } = flags;
      const target = callId === undefined ? phoneNumber && { phoneNumber } : { callId };
      if (!target)
        return command.error("error: missing the option '--call-id <id>' or '--phone-number <number>'");
      const dryRun = flags.yes !== true;
      const erasing = { ...target, dryRun, ...accountOf(flags) };
      const erased = await withReceiver(flags, (receiver) => receiver.erase(erasing));
      await printResult(erased);
      // A misspelled request must not look like a successful one.
      if (erased.events + erased.quarantined === 0) remark('no event and no delivery in quarantine matches');
      else if (dryRun) remark('Nothing was erased. To erase this, add --yes.');
    });
}

function readPhoneNumber(value: unknown): string | undefined {
  return typeof value === 'string' && mentionsOfPhoneNumber(value) ? value : undefined;
}
