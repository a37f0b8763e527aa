import type { Command } from 'commander';
import { fixes } from '../../errors/refusals.ts';
import { type Duration, parseDuration } from '../../kit/duration.ts';
import { parseInstant } from '../../kit/time.ts';
import type { Headers, Scheme } from '../../events/model.ts';
import { signatureHeaders } from '../../signature/detect.ts';
import { type SchemeName, describeScheme } from '../../signature/schemes.ts';
import type { SignatureReason, Verification } from '../../signature/verify.ts';
import { verify } from '../../signature/sign-and-verify.ts';
import { argument } from '../arguments.ts';
import { asUsage, exitCodes } from '../failure.ts';
import { readCapture } from './capture.ts';
import { flagsOfOptions, schemeOption, secretFileOption, secretsFrom } from './options.ts';

interface VerifyFlags {
  readonly secretFile?: string;
  readonly scheme?: SchemeName | Scheme;
  readonly tolerance?: Duration;
  readonly at?: number;
}

export function addVerify(signature: Command, exitWith: (code: number) => void): void {
  signature
    .command('verify')
    .description('check the signature of a captured request')
    .argument('<request>', 'request line, headers, a blank line, and the exact bytes of the body')
    .addOption(secretFileOption())
    .addOption(schemeOption('how it is signed (default: every known scheme is tried)'))
    .option(
      '--tolerance <duration>',
      'how far its time may be from --at (default: 5m)',
      argument("a duration such as '5m', '30d'", parseDuration),
    )
    .option(
      '--at <time>',
      'the time to compare it with (default: now)',
      argument('a time in ISO 8601, or a UNIX timestamp', (value) => parseInstant(value)?.milliseconds),
    )
    .addHelpText('after', '\nExits with 0 when it is authentic, else with 1.')
    .action((file: string, { secretFile, scheme, tolerance, at }: VerifyFlags) => {
      const { headers, body } = readCapture(file);
      const verification = asUsage(
        () =>
          verify(body, headers as Record<string, string | readonly string[] | undefined>, {
            secrets: secretsFrom(secretFile),
            ...(scheme !== undefined && { signature: scheme }),
            ...(tolerance !== undefined && { tolerance }),
            ...(at !== undefined && { now: at }),
          }),
        flagsOfOptions,
      );
      process.stdout.write(`${describe(verification, headers)}\n`);
      if (!verification.ok) exitWith(exitCodes.failure);
    });
}

function describe(verification: Verification, headers: Headers): string {
  if (!verification.ok)
    return `not authentic: ${verification.reason}. ${fixOf(verification.reason, headers)}`;
  const { scheme, secret, timestampSigned } = verification;
  const time = timestampSigned ? 'its time is signed' : 'no time is signed';
  return `authentic: scheme ${describeScheme(scheme)}, secret ${secret}, ${time}`;
}

/**
 * The general fixes are for a receiver. For a request saved long ago they would blame the clock, and for one signed in
 * an unexpected header they would say that it isn't signed.
 */
function fixOf(reason: SignatureReason, headers: Headers): string {
  if (reason === 'timestamp_out_of_tolerance') {
    return (
      'The signature is correct, but its time is too far from --at, which is now by default: set --at to the time when ' +
      'the request came, or raise --tolerance.'
    );
  }
  const elsewhere = reason === 'signature_missing' ? signatureHeaders(headers) : [];
  if (elsewhere.length === 0) return fixes[reason]();
  return (
    `The header ${elsewhere.join(', ')} looks like a signature, but is not where the schemes that were tried have ` +
    'theirs: find out with ringback signature detect how the request is signed, and set --scheme.'
  );
}
