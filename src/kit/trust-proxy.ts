/** Which proxies are trusted, and what they report about the client in X-Forwarded-… and Forwarded (RFC 7239). */
import { isIP } from 'node:net';
import { addressMatcher } from './addresses.ts';

/** Decides whether a proxy is trusted, by its address and its distance (0: the socket's peer). */
export type TrustProxy = (address: string, distance: number) => boolean;

/** Without a setting, no proxy is trusted. */
export const trustNobody: TrustProxy = () => false;

/** Which proxies are trusted, in the forms that Express takes. */
export type TrustProxySetting = boolean | number | string | readonly string[] | TrustProxy;

/**
 * Turns the setting into a function. Undefined if it can't be read. A number trusts that many hops, a list the
 * addresses, CIDR ranges and named ranges in it, `true` everybody.
 */
export function compileTrustProxy(setting: unknown): TrustProxy | undefined {
  // Only true counts: the promise of an asynchronous function would trust everybody.
  if (typeof setting === 'function') {
    const trusts = setting as (...of: Parameters<TrustProxy>) => unknown;
    return (address, distance) => trusts(address, distance) === true;
  }
  if (typeof setting === 'boolean') return () => setting;
  if (typeof setting === 'number')
    return isHops(setting) ? (_address, distance) => distance < setting : undefined;
  if (typeof setting === 'string' && /^\d+$/.test(setting)) return compileTrustProxy(Number(setting));
  const list = typeof setting === 'string' ? setting.split(',').map((entry) => entry.trim()) : setting;
  if (!Array.isArray(list) || !list.every((entry) => typeof entry === 'string')) return undefined;
  return addressMatcher(list);
}

/** The first entry of a list that is neither an address nor a range. */
export function wrongEntry(list: readonly unknown[]): unknown {
  return list.find((entry) => typeof entry !== 'string' || addressMatcher([entry]) === undefined);
}

function isHops(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The items of a header with a list, in lower case. */
export function listOf(value: Headers[string]): string[] {
  if (value === undefined) return [];
  return String(value)
    .split(',')
    .map((item) => item.trim().toLowerCase())
    .filter((item) => item !== '');
}

/** The values of one parameter in the Forwarded header. */
export function forwarded(headers: Headers, parameter: string): string[] {
  return listOf(headers['forwarded'])
    .flatMap((element) => element.split(';'))
    .map((pair) => pair.trim().split('=', 2))
    .filter(([name]) => name === parameter)
    .map(([, value = '']) => value.replace(/^"|"$/g, ''));
}

/**
 * The address of the client: the nearest one that is not a trusted proxy. Proxies append to what the client has sent,
 * so addresses are read from the end, and a client can't fake another's.
 */
export function clientAddress(peer: string, headers: Headers, trusts: TrustProxy): string {
  const named = listOf(headers['x-forwarded-for']);
  const addresses = (named.length > 0 ? named : forwarded(headers, 'for')).map(withoutPort);
  let client = peer;
  for (let distance = 0; trusts(client, distance); distance += 1) {
    const next = addresses.pop();
    if (next === undefined || isIP(next) === 0) break;
    client = next;
  }
  return client;
}

/** Some proxies write the client's port as well: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(address: string): string {
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(address);
  return bracketed?.[1] ?? address.replace(/^([\d.]+):\d+$/, '$1');
}
