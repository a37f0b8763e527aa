import { z } from 'zod';
import { configError } from '../errors/errors.ts';
import { parseSize } from '../kit/bytes.ts';
import { compileTrustProxy } from '../kit/trust-proxy.ts';
import { isDatabaseName, wrongDatabase } from '../receiver/database.ts';
import { checked, givenText, parseStrictly } from '../errors/option-problems.ts';

/** The expected values of options and variables, as errors describe them. */
export const expected = {
  port: 'a port: a whole number from 0 (the system chooses) to 65535',
  database: 'a file, or a URL such as postgres://db.example.com/app',
  path: "a path such as '/webhooks': it starts with a slash and has letters, digits and - . _ ~ / only",
  trustProxy: "a number of hops, 'loopback', or a list of addresses and CIDR ranges separated by commas",
  switch: 'true or false',
  url: 'an http or https address such as https://calls.example.com/webhooks',
  bodySize: "a size from '1kb' to '100mb', such as '5mb'",
  logLevel: 'trace, debug, info, warn, error, fatal or silent',
} as const;

const text = givenText.optional();

const environmentSchema = z.strictObject({
  // Not checked here, because an error would quote the value. The later check of secrets doesn't.
  RINGBACK_SECRETS: z.string().optional(),
  RINGBACK_SECRETS_FILE: text,
  RINGBACK_APP: text,
  RINGBACK_DATABASE: text,
  RINGBACK_HOST: text,
  RINGBACK_PORT: checked(expected.port, readPort).optional(),
  RINGBACK_PATH: checked(expected.path, readPath).optional(),
  RINGBACK_TRUST_PROXY: checked(expected.trustProxy, readTrustProxy).optional(),
  RINGBACK_INSECURE_HTTP: checked(expected.switch, readSwitch).optional(),
  RINGBACK_METRICS: checked(expected.switch, readSwitch).optional(),
  RINGBACK_PAGE: checked(expected.switch, readSwitch).optional(),
  // Not checked here, because an error would quote the value.
  RINGBACK_PAGE_TOKEN: z.string().optional(),
  RINGBACK_PUBLIC_URL: checked(expected.url, readUrl).optional(),
  RINGBACK_PLATFORM_URL: checked(expected.url, readUrl).optional(),
  RINGBACK_PLATFORM_KEY: z.string().optional(),
  RINGBACK_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], expected.logLevel)
    .optional(),
});

export type Environment = z.output<typeof environmentSchema>;

/** @throws ConfigError for an invalid value, and for an unknown variable, so that no misspelled one is ignored */
export function readEnvironment(): Environment {
  const ours = Object.entries(process.env).filter(
    ([name, value]) => name.startsWith('RINGBACK_') && !isOfService(name, value),
  );
  return parseStrictly(environmentSchema, Object.fromEntries(ours), 'the environment');
}

export const databaseOption = [
  '--database <file or URL>',
  'the inbox, a file or a postgres:// URL (RINGBACK_DATABASE; default: ./ringback.db)',
] as const;

/** The flag of that option. */
export interface DatabaseFlag {
  readonly database?: string;
}

/** @throws ConfigError `option_invalid`, which doesn't quote a URL: it may have a password */
export function databaseOf({ database }: DatabaseFlag, environment: Environment): string {
  const found = database ?? environment.RINGBACK_DATABASE ?? './ringback.db';
  return readDatabase(found, database === undefined ? 'RINGBACK_DATABASE' : '--database');
}

export function readDatabase(name: string, option: string): string {
  if (isDatabaseName(name)) return name;
  const found = name === '' ? 'empty' : (wrongDatabase(name) ?? 'another URL');
  throw configError('option_invalid', { option, expected: expected.database, found });
}

/**
 * Whether Kubernetes has set a variable. It sets variables for each service in every pod: for a service named
 * `ringback`, one of them would be read as the port, and others refused as unknown.
 */
function isOfService(name: string, value = ''): boolean {
  if (/_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(name)) return true;
  return name.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value);
}

export function readPort(value: unknown): number | undefined {
  const port = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : NaN;
  return port <= 65_535 ? port : undefined;
}

/** A path; undefined if it has characters that Express would read as patterns. */
export function readPath(value: unknown): string | undefined {
  return typeof value === 'string' && /^\/[\w.~/-]*$/.test(value) ? value : undefined;
}

export function readTrustProxy(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  return compileTrustProxy(value) === undefined ? undefined : value;
}

export function readUrl(value: unknown): URL | undefined {
  const url = typeof value === 'string' ? URL.parse(value) : null;
  return url && ['http:', 'https:'].includes(url.protocol) ? url : undefined;
}

const minBody = 1024;
const maxBody = 100 * 1024 ** 2;

/** The size of a body; undefined outside of the bounds: a small one shows nothing, and a large one fills the memory. */
export function readBodySize(value: unknown): number | undefined {
  const bytes = parseSize(value);
  return bytes !== undefined && bytes >= minBody && bytes <= maxBody ? bytes : undefined;
}

/** Refuses an address with credentials: Node's `fetch` doesn't accept it, and its error would print them. */
export function refuseCredentials(address: URL | undefined, option: string): void {
  if (address === undefined || `${address.username}${address.password}` === '') return;
  const needed = 'an address without a user name or password';
  throw configError('option_invalid', { option, expected: needed, found: 'one with them' });
}

function readSwitch(value: unknown): boolean | undefined {
  if (value === 'true' || value === '1') return true;
  return value === 'false' || value === '0' ? false : undefined;
}
