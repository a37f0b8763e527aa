import { type Command, Option } from 'commander';
import { ringbackError } from '../../errors/errors.ts';
import { systemClock } from '../../kit/clock.ts';
import { type Detection, detectScheme } from '../../signature/detect.ts';
import { readDeliveryId } from '../arguments.ts';
import { type DatabaseFlag, databaseOption } from '../environment.ts';
import { asUsage, exitCodes } from '../failure.ts';
import { existingInbox, withInbox } from '../inbox/existing-inbox.ts';
import { type Capture, readCapture } from './capture.ts';
import { diagnose, sentAtOf } from './diagnosis.ts';
import { secretFileOption, secretsFrom } from './options.ts';

interface DetectFlags extends DatabaseFlag {
  readonly secretFile?: string;
  readonly request?: readonly string[];
  readonly quarantine?: readonly number[];
}

export function addDetect(signature: Command, exitWith: (code: number) => void): void {
  signature
    .command('detect')
    .description('find out how captured requests are signed, and what to set')
    .option(
      '--request <file...>',
      'captured requests: request line, headers, a blank line, and the exact bytes of the body',
    )
    .addOption(quarantineOption())
    .option(...databaseOption)
    .addOption(secretFileOption())
    .addHelpText('after', '\nExits with 0 when one scheme verifies all of them, else with 1.')
    .action(async (flags: DetectFlags, command: Command) => {
      const captures = await capturesOf(flags);
      if (captures.length === 0)
        command.error("error: missing the option '--request <file...>' or '--quarantine <id...>'");
      const secrets = asUsage(() => secretsFrom(flags.secretFile));
      const detections = asUsage(() => detectScheme(captures, secrets));
      const lines =
        detections.length > 0
          ? describeFinding(detections, captures)
          : diagnose(captures, secrets, systemClock.now());
      process.stdout.write(`${lines.join('\n')}\n`);
      if (detections.length === 0) exitWith(exitCodes.failure);
    });
}

function quarantineOption(): Option {
  const add = (value: string, before: readonly number[] | undefined) => [
    ...(before ?? []),
    readDeliveryId(value),
  ];
  return new Option('--quarantine <id...>', 'deliveries in quarantine, by their numbers').argParser<
    readonly number[] | undefined
  >(add);
}

async function capturesOf(flags: DetectFlags): Promise<readonly Capture[]> {
  const { request = [], quarantine = [] } = flags;
  const captured = request.map(readCapture);
  if (quarantine.length === 0) return captured;
  return [...captured, ...(await readQuarantined(await existingInbox(flags), quarantine))];
}

/**
 * Reads deliveries in quarantine as captures. Only some of their headers are stored, so a signature in a header that
 * neither the platform nor a known scheme uses is lost.
 *
 * @throws RingbackError `quarantine_unknown`, `quarantine_cut`
 */
function readQuarantined(database: string, ids: readonly number[]): Promise<readonly Capture[]> {
  return withInbox(database, (store) =>
    Promise.all(
      ids.map(async (id) => {
        const kept = await store.quarantine.get(id);
        if (!kept) throw ringbackError('quarantine_unknown', { id });
        const { isCut, bytes, body } = kept;
        if (isCut) throw ringbackError('quarantine_cut', { id, bytes, kept: body.byteLength });
        return { file: `delivery ${id}`, headers: kept.headers, body: Buffer.from(body) };
      }),
    ),
  );
}

/** The finding, the option to set, and the evidence, in lines. */
function describeFinding(detections: readonly Detection[], captures: readonly Capture[]): readonly string[] {
  const [first, ...others] = detections;
  if (first === undefined) return [];
  const width = Math.max(...captures.map(({ file }) => file.length));
  return [
    `${captures.length === 1 ? 'The request verifies' : `All ${captures.length} requests verify`}. Set the option:`,
    '',
    `  signature: ${quoted(first.option)}`,
    '',
    ...captures.map(
      (capture, index) => `  ${capture.file.padEnd(width)}  ${evidence(capture, first.secrets[index])}`,
    ),
    ...others.map(
      ({ option }) => `\nThis scheme fits as well, so capture another request: ${quoted(option)}`,
    ),
    ...notes(first),
  ];
}

function evidence(capture: Capture, secret: string | undefined): string {
  const sentAt = sentAtOf(capture);
  const when = sentAt === undefined ? '' : `, sent ${new Date(sentAt).toISOString()}`;
  return `verified with the secret ${secret}${when}`;
}

function notes({ option, timestampSigned }: Detection): readonly string[] {
  return [
    ...(option.startsWith('{')
      ? ["\n'auto' doesn't try this scheme: without the option, nothing would verify."]
      : []),
    ...(timestampSigned
      ? []
      : ['\nNo time is signed: anyone who has seen a delivery can send it again later.']),
  ];
}

function quoted(option: string): string {
  return option.startsWith('{') ? option : `'${option}'`;
}
