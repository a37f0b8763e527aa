import { lookup } from 'node:dns';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { isAddressLiteral, isLoopbackAddress, isLoopbackHost } from '../../kit/addresses.ts';
import { readBounded } from '../../kit/http-bodies.ts';

/** Why a website can't be read: it is neither on loopback nor on an allowed host, or it doesn't answer. */
export class WebsiteProblem extends Error {
  readonly kind: 'not_allowed' | 'unreachable';

  constructor(kind: WebsiteProblem['kind']) {
    super(kind);
    this.kind = kind;
  }
}

/** The most bytes of one document, packed and unpacked: a few kilobytes can unpack to gigabytes. */
const maxBytes = 10 * 1024 * 1024;

const unzip = promisify(gunzip);

/**
 * The text of a website's document, unpacked from gzip if necessary. Undefined if there is nothing to read: a status
 * other than 200, a redirect to another origin, too many redirects or bytes, a broken archive.
 *
 * @param hosts hosts outside of loopback that may be visited
 * @throws WebsiteProblem when the website doesn't answer, or may not be visited
 */
export async function readText(
  address: URL,
  hosts: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const get = (url: URL) =>
    requestAllowed(url, hosts, signal).catch((error: unknown) => {
      throw error instanceof WebsiteProblem ? error : new WebsiteProblem('unreachable');
    });
  const found = await follow(address, get, ({ origin }) => origin === address.origin);
  if (typeof found === 'string') return undefined;
  if (found.answer.statusCode === 200) return textIn(found.answer);
  found.answer.destroy();
  return undefined;
}

/** The text of an answer; undefined if it is truncated, too long, or can't be unpacked. */
async function textIn(answer: IncomingMessage): Promise<string | undefined> {
  try {
    const bytes = await readBounded(answer, maxBytes);
    const isPacked = bytes?.[0] === 0x1f && bytes[1] === 0x8b;
    const unpacked = isPacked ? await unzip(bytes, { maxOutputLength: maxBytes }) : bytes;
    return unpacked && new TextDecoder().decode(unpacked);
  } catch {
    return undefined;
  }
}

/**
 * Sends a GET to an address on loopback or on one of the hosts, and resolves once the answer begins, even a redirect.
 * Any other address is refused: a client could otherwise explore the sandbox's network. It connects to the very address
 * that was checked, because a second look-up of a name may return another one.
 *
 * @throws WebsiteProblem `not_allowed`; the error of the connection; the signal's reason
 */
export async function requestAllowed(
  url: URL,
  hosts: readonly string[],
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const isNamed = hosts.includes(url.hostname);
  // An IP address is never looked up, so `lookupLoopback` wouldn't check it.
  if (!isNamed && isAddressLiteral(url.hostname) && !isLoopbackHost(url.hostname))
    throw new WebsiteProblem('not_allowed');
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { request } = url.protocol === 'https:' ? https : http;
  // Without the global agent, which may use a proxy on another machine.
  const options = {
    agent: false,
    lookup: isNamed ? lookup : lookupLoopback,
    signal,
    headers: requestHeaders,
  } as const;
  request(url, options, resolve)
    // Without this, an answer of 101 would end the connection without an event.
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
    else if (!addresses.every(({ address }) => isLoopbackAddress(address))) {
      callback(new WebsiteProblem('not_allowed'), []);
    } else if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

const maxRedirects = 3;

/** An answer that isn't a redirect, and the address that gave it. */
export interface FinalAnswer {
  readonly answer: IncomingMessage;
  readonly address: URL;
}

/**
 * Follows redirects to the final answer. Each address is requested only if it may be visited, because a page must not
 * be able to send the sandbox to other websites.
 *
 * @param get sends a GET, and resolves once the answer begins
 * @returns why there is no answer, if redirects lead to a forbidden address, or are more than three
 * @throws what `get` throws
 */
export async function follow(
  address: URL,
  get: (url: URL) => Promise<IncomingMessage>,
  mayVisit: (url: URL) => boolean,
): Promise<FinalAnswer | 'elsewhere' | 'too_often'> {
  let url = address;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    if (!mayVisit(url)) return 'elsewhere';
    const answer = await get(url);
    const target = targetOf(answer, url);
    if (!target) return { answer, address: url };
    answer.destroy();
    url = target;
  }
  return 'too_often';
}

function targetOf({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | null {
  const isRedirect = statusCode >= 300 && statusCode < 400;
  return isRedirect ? URL.parse(headers.location ?? '', from.href) : null;
}
