/** The operators' page of `ringback serve`, open to everybody who knows the token. */
import { networkOf } from '../../kit/addresses.ts';
import { Allowance } from '../../kit/limiters.ts';
import { clientAddress } from '../../kit/trust-proxy.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { configError } from '../../errors/errors.ts';
import type { Middleware } from '../../http/express.ts';
import { equalInConstantTime, textDigest } from '../../kit/bytes.ts';
import { closeAfterLingering } from '../../kit/http-bodies.ts';
import { ApiProblem, errorBody } from '../../operate/api/problem.ts';
import { type Receiver, internalsOf } from '../../receiver/receiver.ts';
import type { Environment } from '../environment.ts';

export const pagePath = '/ringback';

/** The shortest accepted token: 16 random characters can't be guessed at one attempt a second. */
const minLength = 16;

/** The token for operators. @throws ConfigError `option_invalid`, which doesn't quote it */
export function pageToken({ RINGBACK_PAGE_TOKEN: token }: Environment): string {
  if (token === undefined) throw invalidToken('not set');
  if (/\p{Cc}/u.test(token))
    throw invalidToken('text with a line break or another control character, which nobody can type');
  if (token.length < minLength) throw invalidToken(`${token.length} characters`);
  return token;
}

function invalidToken(found: string): Error {
  return configError('option_invalid', {
    option: 'RINGBACK_PAGE_TOKEN',
    expected: `at least ${minLength} characters that nobody can guess, because --page is set`,
    found,
    fix: 'Make one with: openssl rand -hex 16',
  });
}

/**
 * The page behind HTTP basic authentication, which browsers and curl support. The password is the token; the user name
 * is free, and goes into the audit list.
 */
export function guardedPage(receiver: Receiver, token: string): Middleware {
  const expected = textDigest(token);
  const userOf = (authorization: string | null | undefined): string | undefined => {
    const { user, password } = credentialsIn(authorization ?? '');
    return equalInConstantTime(textDigest(password), expected) && user !== '' ? user : undefined;
  };
  const page = receiver.page({
    authorize: ({ headers }) => {
      const by = userOf(headers.get('authorization'));
      return by === undefined ? undefined : { access: 'all', by };
    },
  });
  const listen = page.middleware();
  const wrongPasswords = wrongPasswordsAt(internalsOf(receiver));
  return (request, response) => {
    const { authorization } = request.headers;
    if (wrongPasswords.areTooMany(request)) return refuse(request, response, tooMany);
    if (userOf(authorization) !== undefined) return listen(request, response);
    // A browser asks without a password first.
    if (authorization !== undefined) wrongPasswords.count(request);
    refuse(request, response, unauthorized);
  };
}

const unauthorized = {
  status: 401,
  code: 'unauthorized',
  headers: { 'www-authenticate': 'Basic realm="Ringback", charset="UTF-8"' },
  message: 'Log in with your name, and the token in RINGBACK_PAGE_TOKEN as the password.',
};
const tooMany = {
  status: 429,
  code: 'too_many_attempts',
  headers: { 'retry-after': '2' },
  message: 'Too many wrong passwords came from your network. Try again in a few seconds.',
};

/** Answers as the API does below it, and elsewhere with a sentence for the browser. */
function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, code, headers, message }: typeof unauthorized | typeof tooMany,
): void {
  const isOfApi = /^\/api(?:[/?]|$)/.test(request.url ?? '');
  const type = isOfApi ? 'application/json' : 'text/plain';
  response.writeHead(status, {
    ...headers,
    'content-type': `${type}; charset=utf-8`,
    'cache-control': 'no-store',
  });
  const problem = new ApiProblem(status, code, message);
  response.end(isOfApi ? JSON.stringify(errorBody(problem)) : `${message}\n`);
  closeAfterLingering(request);
}

/** RFC 7617: the name has no colon, the password may have some. */
function credentialsIn(authorization: string): { readonly user: string; readonly password: string } {
  const encoded = /^basic +([\w+/=-]+)$/i.exec(authorization)?.[1] ?? '';
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return { user: text.slice(0, Math.max(0, colon)).trim(), password: text.slice(colon + 1) };
}

/** How many wrong passwords a network can try: a browser with a former password sends some for each view. */
const allowed = { atOnce: 30, perSecond: 1 };
/** For how many networks they are counted; beyond that, those of the longest known one are forgotten. */
const maxNetworks = 10_000;

/** The wrong passwords of each network. */
function wrongPasswordsAt({
  clock,
  trustProxy,
}: Pick<ReturnType<typeof internalsOf>, 'clock' | 'trustProxy'>) {
  const byNetwork = new Map<string, Allowance>();
  const networkFor = ({ socket, headers }: IncomingMessage) =>
    networkOf(clientAddress(socket.remoteAddress ?? '', headers, trustProxy));
  return {
    /** Whether no password of this client may be checked now, not even the right one. */
    areTooMany: (request: IncomingMessage) => byNetwork.get(networkFor(request))?.take(0) === false,
    count(request: IncomingMessage): void {
      const network = networkFor(request);
      const allowance = byNetwork.get(network) ?? new Allowance(clock, allowed);
      allowance.take(1);
      byNetwork.set(network, allowance);
      const [oldest = network] = byNetwork.keys();
      if (byNetwork.size > maxNetworks) byNetwork.delete(oldest);
    },
  };
}
