import { expect } from 'vitest';
import type { Scheme } from '../../src/events/model.ts';
import type { SchemeName } from '../../src/signature/schemes.ts';
import { sign } from '../../src/signature/sign-and-verify.ts';
import { folder, ringback, secret } from './command.ts';

/** A body that is not only ASCII. */
export const body = '{"traceId":"trace-1","payload":{"call_id":"call-ü"}}';

/** How a captured request differs from an ordinary one. */
export interface CaptureParts {
  readonly secrets?: string;
  readonly scheme?: SchemeName | Scheme;
  readonly timestamp?: number;
  /** What was signed, if it differs from what was captured. */
  readonly signed?: string;
  readonly captured?: string;
  readonly lineBreak?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The text of a file with a captured request. */
export function capture({
  secrets = secret,
  signed = body,
  captured = signed,
  lineBreak = '\r\n',
  headers = {},
  ...options
}: CaptureParts = {}): string {
  const all = {
    Host: 'calls.example.com',
    'Content-Type': 'application/json',
    ...sign(signed, { secrets, ...options }),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  return ['POST /webhooks HTTP/1.1', ...lines, '', captured].join(lineBreak);
}

/** Runs the command in a folder with these captures and a file with the secret. Checks that it prints no secret. */
export async function run(
  args: readonly string[],
  files: Readonly<Record<string, string>>,
  secrets = secret,
) {
  const cwd = folder({ ...files, secrets: `# of the subscription\n${secrets}\n` });
  const ended = await ringback(['signature', ...args, '--secret-file', 'secrets'], { cwd });
  for (const one of secrets.split('\n')) expect(ended.stdout + ended.stderr).not.toContain(one);
  return ended;
}
