import type { IncomingMessage } from 'node:http';

/** Printable ASCII without `#`: with anything else in it, Express no longer takes all before the `?` for the path. */
const plainQuery = /^[!"$-~]*$/;

/**
 * Whether this is what nearly every delivery is: a POST whose target is the path, byte for byte, with or without a
 * query. What Express would send to the receiver besides (other case, a slash at the end, a path below) is not told
 * here but left to Express: two readings of one target would sooner or later differ.
 */
export function isPlainDelivery({ method, url = '' }: Pick<IncomingMessage, 'method' | 'url'>, path: string) {
  if (method !== 'POST' || !url.startsWith(path)) return false;
  return url.length === path.length || (url[path.length] === '?' && plainQuery.test(url.slice(path.length)));
}
