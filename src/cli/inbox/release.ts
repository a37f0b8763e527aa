import type { Command } from 'commander';
import type { Quarantine } from '../../inbox/quarantine.ts';
import { type Environment, databaseOption, readEnvironment } from '../environment.ts';
import { asUsage } from '../failure.ts';
import { inboxFile, withInbox } from '../inbox-file.ts';
import { receiverBeside } from './beside.ts';
import { deliveryIdArgument } from './delivery-id.ts';
import { printLine, remark } from './print.ts';

interface ReverifyFlags {
  readonly database?: string;
  readonly yes?: true;
}

const needs = [
  '',
  'It needs the secrets of `ringback serve`, and no app file: what it releases is handled by the receiver.',
].join('\n');

/** Adds `ringback inbox release`. */
export function addRelease(inbox: Command): void {
  inbox
    .command('release')
    .option(...databaseOption)
    .description(
      'check a delivery in quarantine again, as of its arrival, and make it an event if it verifies',
    )
    .addArgument(deliveryIdArgument())
    .addHelpText('after', needs)
    .action(async (id: number, flags: { readonly database?: string }) => {
      const environment = asUsage(readEnvironment);
      const file = inboxFile(flags, environment);
      await printLine(await withQuarantine(file, environment, (quarantine) => quarantine.release(id)));
    });
}

/** Adds `ringback inbox reverify`. */
export function addReverify(inbox: Command): void {
  inbox
    .command('reverify')
    .option(...databaseOption)
    .description('check all that was not authentic again, as of its arrival, and release what verifies')
    .option('--yes', 'check it')
    .addHelpText('after', needs)
    .action(async (flags: ReverifyFlags) => {
      const environment = asUsage(readEnvironment);
      const file = inboxFile(flags, environment);
      if (flags.yes !== true) return remark(await whatWaits(file));
      await printLine(await withQuarantine(file, environment, (quarantine) => quarantine.reverify()));
    });
}

async function whatWaits(file: string): Promise<string> {
  const { quarantine } = await withInbox(file, (store) => store.counts());
  return `nothing was checked: add --yes. Deliveries in quarantine that were not authentic: ${quarantine.notAuthentic}`;
}

/** Works by a receiver without handlers: it claims nothing, so what is released waits for one that has some. */
async function withQuarantine<T>(
  file: string,
  environment: Environment,
  work: (quarantine: Quarantine) => Promise<T>,
): Promise<T> {
  const receiver = receiverBeside(file, environment);
  await receiver.start();
  try {
    return await work(receiver.quarantine);
  } finally {
    await receiver.stop();
  }
}
