import { isAddressLiteral } from '../../kit/addresses.ts';

/** Why the platform would make no attempt: the same names as the client's warnings about a subscription. */
export type UndeliverableReason = 'url_not_https' | 'url_is_address';

/**
 * Why the platform would not deliver to an address: it requires HTTPS and a domain name (platform document, Delivery
 * request). Undefined for an address that it would deliver to. A name that leads to loopback is a domain name too: the
 * document says nothing of the address behind it, and a receiver under test has no other.
 */
export function undeliverable(address: string): UndeliverableReason | undefined {
  const url = URL.parse(address);
  // What can't be read as an address is left to the attempt, which fails.
  if (!url) return undefined;
  if (url.protocol !== 'https:') return 'url_not_https';
  return isAddressLiteral(url.hostname) ? 'url_is_address' : undefined;
}
