import { expect } from 'vitest';
import { testDatabase } from '../support/postgres.ts';
import { ringback } from './command.ts';
import { env } from './inbox-support.ts';

/** An inbox in Postgres for the commands. */
export interface CommandsDatabase {
  /** With a password, which the server of the tests doesn't ask for unless it is one that was given. */
  readonly url: string;
  readonly password: string;
  /** The database in a sentence for a person. */
  readonly name: string;
  readonly schema: string;
}

/** A database for the test that runs, whose schema isn't there yet. */
export async function commandsDatabase(): Promise<CommandsDatabase> {
  const { connectionString, schema } = await testDatabase();
  const url = new URL(connectionString);
  url.password ||= 'not-for-anyone';
  url.searchParams.set('schema', schema);
  const name = `postgres://${url.host}${url.pathname}, schema ${schema}`;
  return { url: url.href, password: url.password, name, schema };
}

/** Runs the command with that database, in a process that runs others too. Nothing that it writes has the password. */
export async function onPostgres(
  { url, password }: Pick<CommandsDatabase, 'url' | 'password'>,
  args: readonly string[],
  setting: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
) {
  const result = await ringback(args, {
    ...setting,
    env: { ...env, RINGBACK_DATABASE: url, ...setting.env },
  });
  expect(`${result.stdout}${result.stderr}`).not.toContain(password);
  return result;
}
