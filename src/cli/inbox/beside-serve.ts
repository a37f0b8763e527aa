import type { AppOptions } from '../../receiver/options.ts';
import { loadApp } from '../app/app-file.ts';
import { type Environment, readEnvironment } from '../environment.ts';
import { asUsage } from '../failure.ts';
import { keepConsoleOffStdout } from '../stderr.ts';
import { existingInbox } from './existing-inbox.ts';

export const appOption = [
  '--app <file>',
  'the app file of serve, if it exports options (RINGBACK_APP)',
] as const;

export interface BesideServeFlags {
  readonly database?: string;
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
