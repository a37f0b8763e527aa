import type { IncomingMessage } from 'node:http';

const maxRedirects = 3;

/** An answer that leads nowhere else, and the address that gave it. */
export interface FinalAnswer {
  readonly answer: IncomingMessage;
  readonly address: URL;
}

/**
 * Follows redirects to the answer behind them. Whoever publishes a page may not send the sandbox to other websites, so each
 * address is asked for only if it may be visited.
 *
 * @param get Sends a GET, and resolves once the answer begins
 * @returns Why there is no answer, if redirects lead to what may not be visited, or are more than three
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

/** Where a redirect leads; null for an answer that is none. */
function targetOf({ statusCode = 0, headers }: IncomingMessage, from: URL): URL | null {
  const isRedirect = statusCode >= 300 && statusCode < 400;
  return isRedirect ? URL.parse(headers.location ?? '', from.href) : null;
}
