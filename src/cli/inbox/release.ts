import type { Command } from 'commander';
import type { Quarantine } from '../../operate/quarantine/quarantine.ts';
import { internalsOf } from '../../receiver/receiver.ts';
import { remark } from '../stderr.ts';
import { databaseOption } from '../environment.ts';
import type { Account } from '../../operate/audit.ts';
import { accountOf, deliveryIdArgument, takesAccount } from '../arguments.ts';
import { type BesideServeFlags, appOption, besideServe, receiverBeside } from '../app/receiver-beside.ts';
import { withOpened } from './existing-inbox.ts';
import { printResult } from './print.ts';

type ReleaseFlags = Account & BesideServeFlags;

interface ReverifyFlags extends ReleaseFlags {
  readonly yes?: true;
}

const needs = [
  '',
  'It needs the secrets of `ringback serve`, and the app file only for the options that it exports: the receiver handles',
  'what is released.',
].join('\n');

export function addRelease(inbox: Command): void {
  takesAccount(inbox.command('release'))
    .option(...databaseOption)
    .option(...appOption)
    .description(
      'verify a delivery in quarantine again, as of its arrival, and release it as an event if it verifies',
    )
    .addArgument(deliveryIdArgument())
    .addHelpText('after', needs)
    .action(async (id: number, flags: ReleaseFlags) => {
      await printResult(
        await withQuarantine(flags, (quarantine) => quarantine.release(id, accountOf(flags))),
      );
    });
}

export function addReverify(inbox: Command): void {
  takesAccount(inbox.command('reverify'))
    .option(...databaseOption)
    .option(...appOption)
    .description(
      'show how many unauthenticated deliveries would verify now, as of their arrival, and with --yes release them',
    )
    .option('--yes', 'release them')
    .addHelpText('after', needs)
    .action(async (flags: ReverifyFlags) => {
      const dryRun = flags.yes !== true;
      const options = { ...accountOf(flags), dryRun };
      await printResult(await withQuarantine(flags, (quarantine) => quarantine.reverify(options)));
      if (dryRun) remark('Nothing was released. To release these deliveries, add --yes.');
    });
}

/** Uses a receiver without handlers, which claims nothing: a released event waits for a receiver with handlers. */
async function withQuarantine<T>(
  flags: ReleaseFlags,
  work: (quarantine: Quarantine) => Promise<T>,
): Promise<T> {
  const { database, environment, options } = await besideServe(flags);
  const receiver = receiverBeside(database, environment, options);
  return withOpened(receiver, async () => {
    await internalsOf(receiver).parts.authenticator.load();
    return work(receiver.quarantine);
  });
}
