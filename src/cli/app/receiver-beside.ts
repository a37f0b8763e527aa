import { randomUUID } from 'node:crypto';
import type { AppOptions } from '../../receiver/options.ts';
import { type Receiver, createReceiver, internalsOf } from '../../receiver/receiver.ts';
import type { Store } from '../../store/store.ts';
import { receiverOptions } from './app-options.ts';
import { type DatabaseFlag, type Environment, readEnvironment } from '../environment.ts';
import { asUsage } from '../failure.ts';
import { existingInbox } from '../inbox/existing-inbox.ts';
import { keepConsoleOffStdout } from '../stderr.ts';
import { loadApp } from './app-file.ts';
import { logBesideResult } from '../log.ts';
import { hasSecrets } from '../secrets.ts';

/** The serving receiver does the retention: a command that runs for a moment removes nothing. */
const keepAll = { done: '3650d', dead: '3650d', quarantine: '3650d', traceIds: '3650d' } as const;

/** A short-lived receiver beside the serving one, with the same options except for retention and the log. */
export function receiverBeside(
  database: string | Store,
  environment: Environment,
  app: AppOptions,
): Receiver {
  return createReceiver({
    ...asUsage(() => receiverOptions({}, environment, app)),
    database,
    retention: keepAll,
    logger: logBesideResult(environment),
  });
}

/** Such a receiver to look at the inbox with, and whether it has secrets: without them, it can't verify anything. */
export function lookingReceiver(
  database: string,
  environment: Environment,
  app: AppOptions = {},
): { readonly receiver: Receiver; readonly canVerify: boolean } {
  const canVerify = hasSecrets(environment) || app.secrets !== undefined;
  // Without secrets, a receiver needs `headers` to be created; it takes no deliveries here, so their value is random.
  const options = canVerify ? app : { ...app, headers: { 'x-ringback-look': randomUUID() } };
  return { receiver: receiverBeside(database, environment, options), canVerify };
}

/**
 * Gets the secrets of such a receiver, which wasn't started: a function that gives them may take longer than a look
 * waits for it. The inbox can be looked at even if it gives none.
 */
export async function loadSecrets(receiver: Receiver): Promise<void> {
  await internalsOf(receiver)
    .parts.authenticator.load()
    .catch(() => {});
}

export const appOption = [
  '--app <file>',
  'the app file of serve, if it exports options (RINGBACK_APP)',
] as const;

export interface BesideServeFlags extends DatabaseFlag {
  readonly app?: string;
}

/** What a receiver needs to verify as `serve` does: its inbox, its environment and the options of its app file. */
export async function besideServe(flags: BesideServeFlags): Promise<{
  readonly database: string;
  readonly environment: Environment;
  readonly options: AppOptions;
}> {
  const environment = asUsage(readEnvironment);
  const database = await existingInbox(flags, environment);
  const app = flags.app ?? environment.RINGBACK_APP;
  keepConsoleOffStdout();
  // The app's handlers aren't registered: a process that lives for a moment shouldn't begin runs.
  const options = app === undefined ? {} : (await loadApp(app)).options;
  return { database, environment, options };
}
