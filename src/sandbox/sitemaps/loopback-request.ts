import { lookup } from 'node:dns';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { type LookupFunction, isIP } from 'node:net';
import { addressMatcher } from '../../kit/addresses.ts';
import { WebsiteProblem } from './website-problem.ts';

const isLoopback = addressMatcher(['loopback']) ?? (() => false);

/**
 * Sends a GET to an address on loopback, and resolves once the answer begins; redirects are answers too. Any other
 * address is refused: a client of the sandbox could otherwise explore the sandbox's network. The connection is made to
 * the address that was checked: a name that is resolved again may give another address.
 *
 * @throws WebsiteProblem `not_loopback`; the error of the connection; the signal's reason
 */
export async function requestLoopback(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
  // An IP address is never looked up, so `lookupLoopback` would not check it.
  if (isIP(hostOf(url)) !== 0 && !isLoopback(hostOf(url))) throw new WebsiteProblem('not_loopback');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { request } = url.protocol === 'https:' ? https : http;
  // An agent of its own: the process's agent may be set to use a proxy, which may be on another machine.
  const options = { agent: false, lookup: lookupLoopback, signal, headers: requestHeaders } as const;
  request(url, options, resolve)
    // Without this, an answer of 101 would end the connection and say nothing.
    .on('upgrade', (_answer, socket) => {
      socket.destroy();
      reject(new WebsiteProblem('unreachable'));
    })
    .on('error', reject)
    .end();
  return promise;
}

const requestHeaders = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'ringback-sandbox' };

const lookupLoopback: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const [first] = addresses ?? [];
    if (error || !first) callback(error ?? new WebsiteProblem('unreachable'), []);
    else if (!addresses.every(({ address }) => isLoopback(address))) {
      callback(new WebsiteProblem('not_loopback'), []);
    } else if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

/** The name or address without the brackets that an address of IPv6 has in a URL. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '');
}
