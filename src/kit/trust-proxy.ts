import { addressMatcher } from './addresses.ts';

/** Decides whether a peer may speak for the sender, by its address and its distance (0: the socket's peer). */
export type TrustProxy = (address: string, distance: number) => boolean;

/** Without a setting, nobody may speak for another. */
export const trustNobody: TrustProxy = () => false;

/** Which proxies are trusted, in the forms that Express takes. */
export type TrustProxySetting = boolean | number | string | readonly string[] | TrustProxy;

/**
 * Turns the setting into a decision, or undefined when it can't be read. A number trusts that many hops, a
 * list the addresses, CIDR ranges and named ranges in it, `true` everybody.
 */
export function compileTrustProxy(setting: unknown): TrustProxy | undefined {
  if (typeof setting === 'function') return setting as TrustProxy;
  if (typeof setting === 'boolean') return () => setting;
  if (typeof setting === 'number')
    return isHops(setting) ? (_address, distance) => distance < setting : undefined;
  if (typeof setting === 'string' && /^\d+$/.test(setting)) return compileTrustProxy(Number(setting));
  const list = typeof setting === 'string' ? setting.split(',').map((entry) => entry.trim()) : setting;
  if (!Array.isArray(list) || !list.every((entry) => typeof entry === 'string')) return undefined;
  return addressMatcher(list);
}

function isHops(value: number): boolean {
  return Number.isInteger(value) && value >= 0;
}
