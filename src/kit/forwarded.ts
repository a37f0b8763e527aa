/** What proxies say about the client in front of them, in X-Forwarded-… and in Forwarded (RFC 7239). */
import { isIP } from 'node:net';
import type { TrustProxy } from './trust-proxy.ts';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The items of a header that is a list, in lower case. */
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
 * The address of the client: the nearest one that is not a trusted proxy. What a proxy adds is behind what the client
 * has sent itself, so the addresses count from the end, and a client can't pass for another.
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
