import type { IncomingMessage } from 'node:http';

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
