import type { Command } from 'commander';
import { readInput } from '../arguments.ts';
import type { Scheme } from '../../events/model.ts';
import type { SchemeName } from '../../signature/schemes.ts';
import { sign } from '../../signature/sign-and-verify.ts';
import { asUsage } from '../failure.ts';
import { flagsOfOptions, schemeOption, secretFileOption, secretsFrom } from './options.ts';

interface SignFlags {
  readonly secretFile?: string;
  readonly scheme?: SchemeName | Scheme;
  readonly traceId?: string;
  readonly timestamp?: string;
}

export function addSign(signature: Command): void {
  signature
    .command('sign')
    .description('sign the bytes of a file as the platform would, and print the headers')
    .argument('<body>', 'the file whose bytes are the body')
    .addOption(secretFileOption())
    .addOption(schemeOption('how to sign (default: t-v1-hex-whole)'))
    .option('--trace-id <id>', 'the trace id, for schemes that sign it')
    .option('--timestamp <time>', 'the time of the delivery, sent exactly as given (default: now)')
    .addHelpText('after', '\nEvery secret gives one signature, as after a rotation.')
    .action((file: string, { secretFile, ...options }: SignFlags) => {
      const body = readInput(file, 'body_unreadable');
      const headers = asUsage(
        () => sign(body, { secrets: secretsFrom(secretFile), ...options }),
        flagsOfOptions,
      );
      for (const [name, value] of Object.entries(headers)) process.stdout.write(`${name}: ${value}\n`);
    });
}
