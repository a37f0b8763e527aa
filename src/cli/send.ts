import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { configError, ringbackError } from '../errors/errors.ts';
import { isRecord } from '../kit/values.ts';
import { isRefusal, refusals } from '../errors/refusals.ts';
import { readCauseOf } from '../kit/error-text.ts';
import { jsonIn } from '../kit/http-bodies.ts';
import { isMissing } from '../kit/files.ts';
import type { SchemeName } from '../signature/schemes.ts';
import { type DeliveryAnswer, deliverTo } from '../testing/deliver.ts';
import { type DeliverySource, type SignedDelivery, buildDelivery } from '../testing/delivery.ts';
import { fixture, fixtureNames, readFixture, unknownFixture } from '../testing/fixtures.ts';
import { expected, readEnvironment, readUrl, refuseCredentials } from './environment.ts';
import { argument, headerOption, schemeName } from './arguments.ts';
import { asUsage, exitCodes } from './failure.ts';
import { currentSecrets, hasSecrets } from './secrets.ts';
import { remark } from './stderr.ts';
import { withoutControls } from './terminal.ts';

interface SendFlags {
  readonly to?: URL;
  readonly secret?: string;
  readonly scheme?: SchemeName;
  readonly newIds?: true;
  readonly header: Readonly<Record<string, string>>;
  readonly list?: true;
}

export function addSend(program: Command, exitWith: (code: number) => void): void {
  program
    .command('send')
    .description('sign one delivery, send it, and print the answer')
    .argument('[fixture]', "a fixture's name, a file in the format of a fixture, or a file with the body")
    .option('--to <url>', 'where to send it', argument(expected.url, readUrl))
    .option(
      '--secret <secret>',
      'the secret to sign with (default: the first of RINGBACK_SECRETS or RINGBACK_SECRETS_FILE)',
    )
    .option('--scheme <name>', 'how to sign (default: t-v1-hex-whole)', schemeName)
    .addOption(headerOption())
    .option('--new-ids', 'give the event a new trace id, so that it is not a duplicate')
    .option('--list', 'print the names of the fixtures')
    .addHelpText('after', '\nExits with 0 when the answer is 200, else with 1.')
    .action(async (name: string | undefined, flags: SendFlags, command: Command) => {
      if (flags.list) return list();
      if (name === undefined) return command.error("error: missing the fixture's name or file");
      if (flags.to === undefined) return command.error("error: missing the option '--to <url>'");
      const to = flags.to;
      asUsage(() => refuseCredentials(to, '--to'));
      const source = sourceOf(name);
      if (source instanceof Uint8Array && source.byteLength === 0)
        return command.error(`error: the file ${name} should be a fixture or a body, but is empty`);
      const answer = await send(source, to, flags);
      if (answer.status === 200) return;
      remark(whereToLook(answer));
      exitWith(exitCodes.failure);
    });
}

async function send(source: DeliverySource, url: URL, flags: SendFlags): Promise<DeliveryAnswer> {
  const options = {
    secret: flags.secret ?? asUsage(firstSecret),
    ...(flags.scheme !== undefined && { scheme: flags.scheme }),
    headers: flags.header,
    ...(flags.newIds && { traceId: randomUUID() }),
  };
  const delivery = asUsage(() => buildDelivery(source, options));
  print(`→ ${describe(delivery)} to ${url.href}`);
  const answer = await deliverTo(url, delivery);
  const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
  print(`← ${answer.status} ${withoutControls(text)}`);
  return answer;
}

/** Where to find out why an answer is not 200: the answer itself doesn't give the reason. */
function whereToLook({ status, body }: DeliveryAnswer): string {
  if (isRefusal(codeOf(body), status)) {
    const line =
      status === refusals.unavailable.status ? 'delivery_refused or delivery_failed' : 'delivery_refused';
    return `refused; the receiver's log says why (${line}; for most reasons also refusal_fix, the first time)`;
  }
  return status === 404
    ? "no receiver takes deliveries at this path: compare it with the receiver's (--path of ringback serve)"
    : 'this is not the answer of a receiver: check the address, and what is in front of the receiver';
}

function codeOf(body: unknown): unknown {
  return isRecord(body) ? body['error'] : undefined;
}

function list(): void {
  for (const name of fixtureNames()) print(`${name.padEnd(38)}${fixture(name).description}`);
}

/** The name of a fixture takes precedence over a file, so that it means the same in every folder. */
function sourceOf(name: string): DeliverySource {
  if (fixtureNames().includes(name)) return fixture(name);
  const bytes = bytesOf(name);
  // A file that isn't JSON is sent as it is: the user may want to see the answer to it.
  return readFixture(name, jsonIn(bytes.toString())) ?? bytes;
}

function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    if (isMissing(error)) throw unknownFixture(file, true);
    throw ringbackError('body_unreadable', { file, cause: readCauseOf(error) });
  }
}

function firstSecret(): string {
  const environment = readEnvironment();
  if (!hasSecrets(environment)) {
    throw configError('option_invalid', {
      option: '--secret',
      expected: 'the signing secret',
      found: 'missing',
      fix: 'Set it, RINGBACK_SECRETS or RINGBACK_SECRETS_FILE to the secret that the receiver has.',
    });
  }
  return currentSecrets(environment)[0] ?? '';
}

function describe({ headers, body }: SignedDelivery): string {
  const name = headers['x-webhook-event'] ?? 'a delivery without a name';
  const traceId = headers['x-webhook-traceid'];
  return `${name}${traceId === undefined ? '' : ` ${traceId}`} (${body.byteLength} bytes)`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
