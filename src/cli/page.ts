import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { Command } from 'commander';
import { listen, urlOf } from '../http/listening.ts';
import { type Action, actions } from '../operate/api/access.ts';
import { internalsOf } from '../receiver/receiver.ts';
import { accountOf, argument, takesBy } from './arguments.ts';
import { loadApp } from './app/app-file.ts';
import { type DatabaseFlag, databaseOption, expected, readEnvironment, readPort } from './environment.ts';
import { asUsage } from './failure.ts';
import { existingInbox } from './inbox/existing-inbox.ts';
import { loadSecrets, lookingReceiver } from './app/receiver-beside.ts';
import { stopSignal } from './signals.ts';
import { keepConsoleOffStdout, remark } from './stderr.ts';

interface PageFlags extends DatabaseFlag {
  readonly app?: string;
  readonly port?: number;
  readonly by?: string;
}

export function addPage(program: Command): void {
  takesBy(program.command('page'), 'who uses the page; stored in the audit list with each change')
    .description("serve the operators' page of an inbox on this machine, whether or not a receiver runs")
    .option(...databaseOption)
    .option('--app <file>', 'the app file of serve, to replay events with its handlers (RINGBACK_APP)')
    .option(
      '--port <number>',
      'port to listen on, 0 lets the system choose (default: 0)',
      argument(expected.port, readPort),
    )
    .addHelpText(
      'after',
      [
        '',
        'It prints an address that nobody else can guess, for your browser, and runs until it is stopped. It accepts no',
        'deliveries and runs no handlers: the receiver does. Replaying needs the app file, and verifying deliveries in',
        'quarantine again needs the secrets of `ringback serve`.',
      ].join('\n'),
    )
    .action(show);
}

async function show(flags: PageFlags): Promise<void> {
  const stopping = stopSignal();
  const environment = asUsage(readEnvironment);
  const database = await existingInbox(flags, environment);
  keepConsoleOffStdout();
  const file = flags.app ?? environment.RINGBACK_APP;
  const app = file === undefined ? undefined : await loadApp(file);
  const { receiver, canVerify } = lookingReceiver(database, environment, app?.options);
  await app?.register(receiver);
  await internalsOf(receiver).lifecycle.openInbox();
  if (canVerify) await loadSecrets(receiver);
  const isOffered = (action: Action): boolean =>
    action === 'replay' ? app !== undefined : action !== 'quarantine' || canVerify;
  const access = actions.filter(isOffered);
  const { by } = accountOf(flags);
  const page = receiver.page({ authorize: () => ({ access, by }) });
  // Other users of this machine, and every page in the same browser, can reach a loopback port, so the path is secret.
  const prefix = `/${randomBytes(16).toString('hex')}`;
  const server = createServer(page.nodeHandler(prefix));
  try {
    await listen(server, { host: '127.0.0.1', port: flags.port ?? 0 });
    process.stdout.write(`${urlOf(server)}${prefix}/\n`);
    remark('open this address in a browser. Everyone who knows it can change the inbox. Stop with Ctrl-C');
    await stopping;
  } finally {
    server.close();
    await receiver.stop();
    server.closeAllConnections();
  }
}
