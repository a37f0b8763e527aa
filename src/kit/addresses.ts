/**
 * Addresses, ranges of them, and hosts. Not by `proxy-addr`, which Express uses: in a list, it takes `010.0.0.1` for
 * 8.0.0.1 and `10` for 0.0.0.10, so that a typo trusts a foreign address, and it refuses `0.0.0.0/0`. The checks that it
 * would need are half of what it would replace, and an app without Express would get three more packages.
 */
import { BlockList, isIP } from 'node:net';

/** The names for address ranges, the same as in Express. */
const namedRanges: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.1/8', '::1/128']],
  ['linklocal', ['169.254.0.0/16', 'fe80::/10']],
  ['uniquelocal', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']],
]);

/**
 * Returns a function that tests whether an address is in a list of addresses, CIDR ranges and named ranges (`loopback`,
 * `linklocal`, `uniquelocal`), or undefined if the list can't be read. IPv4 addresses written as IPv6
 * (`::ffff:127.0.0.1`) count as IPv4.
 */
export function addressMatcher(list: readonly string[]): ((address: string) => boolean) | undefined {
  const block = new BlockList();
  for (const entry of list.flatMap((name) => namedRanges.get(name) ?? [name])) {
    if (!addRange(block, entry)) return undefined;
  }
  return (address) => {
    const plain = withoutMapping(address);
    const family = isIP(plain);
    return family !== 0 && block.check(plain, family === 4 ? 'ipv4' : 'ipv6');
  };
}

/**
 * The name in a Host header: in lower case, without port and trailing dot, with other spellings of an IP address
 * (`0x7f.1`) normalized. Undefined if it is not a host.
 */
export function hostName(host: string): string | undefined {
  return URL.parse(`http://${host}`)?.hostname.replace(/\.$/, '');
}

/** Whether the name of a host is an IP literal. */
export function isAddressLiteral(name: string): boolean {
  return isIP(withoutBrackets(name)) !== 0;
}

/** Whether an address, without brackets, is one of loopback. */
export const isLoopbackAddress = addressMatcher(['loopback']) ?? (() => false);

/** Whether the host of a URL is this machine: `localhost`, a name under it (RFC 6761), or a loopback address. */
export function isLoopbackHost(name: string): boolean {
  const isLocalName = name === 'localhost' || name.endsWith('.localhost');
  return isLocalName || isLoopbackAddress(withoutBrackets(name));
}

/** In a URL, an IPv6 address has brackets. */
function withoutBrackets(name: string): string {
  return name.replace(/^\[|\]$/g, '');
}

/**
 * The network of an address: an IPv6 address's first 64 bits, since anybody who has one address of these has all; an
 * IPv4 address itself.
 */
export function networkOf(address: string): string {
  const plain = withoutMapping(address);
  return isIP(plain) === 6 ? firstGroups(plain) : plain;
}

/** The first four of the eight groups of an IPv6 address. */
function firstGroups(address: string): string {
  // A URL has the address in its canonical form, in which only the longest run of zeros is left out.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string | undefined) => (text ? text.split(':') : []);
  const missing = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const zeros = Array.from({ length: missing }, () => '0');
  return `${[...groups(head), ...zeros, ...groups(tail)].slice(0, 4).join(':')}::/64`;
}

function addRange(block: BlockList, entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  if (prefix === undefined) {
    block.addAddress(address, type);
    return true;
  }
  const bits = family === 4 && isIP(prefix) === 4 ? bitsOfMask(prefix) : bitsOf(prefix);
  if (!(bits <= (family === 4 ? 32 : 128))) return false;
  block.addSubnet(address, bits, type);
  return true;
}

function bitsOf(prefix: string): number {
  return /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
}

/** The prefix length of a netmask such as 255.255.255.0: ones, then zeros. NaN for any other. */
function bitsOfMask(mask: string): number {
  const digits = mask.split('.').map((part) => Number(part).toString(2).padStart(8, '0'));
  const zeros = digits.join('').indexOf('0');
  const isMask = /^1*0*$/.test(digits.join(''));
  if (!isMask) return Number.NaN;
  return zeros === -1 ? 32 : zeros;
}

function withoutMapping(address: string): string {
  const zoneless = address.split('%', 1)[0] ?? address;
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(zoneless) ? zoneless.slice(7) : zoneless;
}
