import { isAddressLiteral } from '../../kit/addresses.ts';
import { type Finding, finding } from './finding.ts';

/** Whether the platform would deliver to this address at all: HTTPS, and a domain name (platform document, Limits). */
export function checkAddress(url: URL): readonly Finding[] {
  return [checkProtocol(url), checkName(url)];
}

function checkProtocol({ protocol }: URL): Finding {
  return protocol === 'https:'
    ? finding('https', 'ok', 'the address is https')
    : finding(
        'https',
        'wrong',
        'the address is http, and the platform delivers over HTTPS only: put TLS in front.',
      );
}

function checkName({ hostname }: URL): Finding {
  const isOwn = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (isAddressLiteral(hostname) || isOwn || !hostname.includes('.')) {
    const hint = 'use a domain name that the platform can look up.';
    return finding(
      'host',
      'wrong',
      `${hostname} is no domain name, and the platform delivers to these only: ${hint}`,
    );
  }
  return finding('host', 'ok', `${hostname} is a domain name`);
}
