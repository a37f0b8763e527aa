import { expect } from 'vitest';
import type { Layout } from '../../src/model.ts';
import type { LayoutName } from '../../src/signature/layouts.ts';
import { sign } from '../../src/signature/sign.ts';
import { folder, ringback, secret } from './command.ts';

/** A body with more than ASCII in it. */
export const body = '{"traceId":"trace-1","payload":{"call_id":"call-ü"}}';

/** How a captured request differs from an ordinary one. */
export interface CaptureParts {
  readonly secrets?: string;
  readonly layout?: LayoutName | Layout;
  readonly timestamp?: number;
  /** What was signed, where it is not what was captured. */
  readonly signed?: string;
  readonly captured?: string;
  readonly lineBreak?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A captured request, as a file would have it. */
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

/** The command in a folder that has these captures and the secret's file. However it ends, it prints no secret. */
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
