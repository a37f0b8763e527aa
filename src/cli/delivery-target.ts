import type { IncomingMessage } from 'node:http';

/** Printable ASCII without `#`. With any other character in the query, Express may not end the path at the `?`. */
const plainQuery = /^[!"$-~]*$/;

/**
 * Whether this is a POST whose target is exactly the path, with or without a query, as nearly every delivery is. The
 * other targets that Express sends to the receiver (other case, a slash at the end, a path below) are left to Express:
 * a second reading of them here would sooner or later differ from it.
 */
export function isPlainDelivery({ method, url = '' }: Pick<IncomingMessage, 'method' | 'url'>, path: string) {
  if (method !== 'POST' || !url.startsWith(path)) return false;
  return url.length === path.length || (url[path.length] === '?' && plainQuery.test(url.slice(path.length)));
}
