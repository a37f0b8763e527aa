import type { Command } from 'commander';
import { argument } from './arguments.ts';
import { examine } from './doctor/examine.ts';
import { isWell, jsonOf, linesOf } from './doctor/findings.ts';
import {
  type DatabaseFlag,
  databaseOf,
  databaseOption,
  expected,
  readBodySize,
  readEnvironment,
  readUrl,
  refuseCredentials,
} from './environment.ts';
import { asUsage, exitCodes } from './failure.ts';
import { withoutSecrets } from './stderr.ts';

interface DoctorFlags extends DatabaseFlag {
  readonly url?: URL;
  readonly platform?: URL;
  readonly body?: number;
  readonly json?: true;
}

export function addDoctor(program: Command, exitWith: (code: number) => void): void {
  program
    .command('doctor')
    .description('check a deployment: this machine, the public address, the subscription')
    .option(...databaseOption)
    .option(
      '--url <url>',
      'the public address that the platform delivers to (RINGBACK_PUBLIC_URL)',
      argument(expected.url, readUrl),
    )
    .option(
      '--platform <url>',
      'the address of the platform (RINGBACK_PLATFORM_URL)',
      argument(expected.url, readUrl),
    )
    .option(
      '--body <size>',
      "the size of the large body that is posted: the receiver's limits.body (default: 5mb)",
      argument(expected.bodySize, readBodySize),
    )
    .option('--json', 'print the findings as JSON')
    .addHelpText(
      'after',
      [
        '',
        'Environment:',
        '  RINGBACK_PLATFORM_KEY  a key of the platform, to look at the subscription',
        'It reads the same secrets as `ringback serve`. An option takes precedence over its variable.',
        'Exits with 0 when nothing is wrong, else with 1.',
      ].join('\n'),
    )
    .action(async (flags: DoctorFlags) => {
      const environment = asUsage(readEnvironment);
      const url = flags.url ?? environment.RINGBACK_PUBLIC_URL;
      const platform = flags.platform ?? environment.RINGBACK_PLATFORM_URL;
      asUsage(() => refuseCredentials(url, '--url'));
      asUsage(() => refuseCredentials(platform, '--platform'));
      const database = asUsage(() => databaseOf(flags, environment));
      const findings = await examine({ database, url, platform, environment, body: flags.body });
      const text = flags.json ? jsonOf(findings) : linesOf(findings).join('\n');
      process.stdout.write(`${withoutSecrets(text)}\n`);
      if (!isWell(findings)) exitWith(exitCodes.failure);
    });
}
