import { configError } from '../../errors/errors.ts';
import { isLoopbackHost } from '../../kit/addresses.ts';

/**
 * Reads the option `baseUrl`: an origin with an optional path prefix.
 *
 * Plain HTTP is refused except on loopback. A warning would come too late: an eavesdropper would already have the key.
 *
 * @throws ConfigError that doesn't quote the value, which may hold a password, or be the key put in the wrong place
 */
export function readBaseUrl(value: unknown): URL {
  const url = parse(value);
  const found = url ? whatIsWrongWith(url) : kindOf(value);
  if (url && found === undefined) return url;
  throw configError('option_invalid', {
    option: 'baseUrl in createPlatform',
    expected: 'the https address of the platform (plain http on loopback only)',
    found: found ?? 'something else',
  });
}

/** The address of an operation; `path` begins with a slash, and its parts are encoded already. */
export function addressOf(baseUrl: URL, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const address = new URL(`${baseUrl.origin}${baseUrl.pathname.replace(/\/+$/, '')}${path}`);
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  return address;
}

function parse(value: unknown): URL | null {
  const text = value instanceof URL ? value.href : value;
  return typeof text === 'string' ? URL.parse(text) : null;
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  return typeof value === 'string' ? 'a text that is no URL' : `of type ${typeof value}`;
}

function whatIsWrongWith(url: URL): string | undefined {
  if (url.username !== '' || url.password !== '') return 'a URL with a user name or a password in it';
  if (url.search !== '' || url.hash !== '') return 'a URL with a query or a fragment';
  if (url.protocol === 'https:') return undefined;
  if (url.protocol !== 'http:') return `a URL of the protocol ${url.protocol}`;
  return isLoopbackHost(url.hostname)
    ? undefined
    : 'plain http to another machine, where the key could be read';
}

/**
 * Encodes a part of a path. Ids may have any format except an empty one, `.` and `..`, which would address another
 * operation: deleting `..` isn't deleting a subscription.
 *
 * @throws ConfigError `option_invalid`
 */
export function pathPart(id: unknown, argument: string, operation: string): string {
  if (typeof id === 'string' && id !== '' && id !== '.' && id !== '..' && id.isWellFormed()) {
    return encodeURIComponent(id);
  }
  throw configError('option_invalid', {
    option: `${argument} in ${operation}`,
    expected: 'an id, as the platform gave it',
    found: typeof id === 'string' ? JSON.stringify(id) : id === null ? 'null' : `of type ${typeof id}`,
  });
}
