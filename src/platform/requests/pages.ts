import { z } from 'zod';
import { PlatformError } from './platform-error.ts';

/** One page, and the token to ask for the next one with. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Undefined on the last page. */
  readonly nextToken: string | undefined;
}

/** The query of a page: `page_size` is always sent, since the platform requires it. */
export function pageQuery(size: number, token: string | undefined): Readonly<Record<string, string>> {
  return { page_size: String(size), ...(token !== undefined && { page_token: token }) };
}

/**
 * Every item of every page. Each page is asked for when its first item is taken.
 *
 * @throws PlatformError `page_token_repeated` when a token comes a second time: the listing would never end
 */
export async function* everyItem<Item>(
  operation: string,
  ask: (token: string | undefined) => Promise<Page<Item>>,
): AsyncGenerator<Item, void, undefined> {
  const seen = new Set<string>();
  let token: string | undefined;
  do {
    const { items, nextToken } = await ask(token);
    yield* items;
    token = nextToken;
    if (token !== undefined && seen.has(token)) throw repeated(operation);
    if (token !== undefined) seen.add(token);
  } while (token !== undefined);
}

/** The token is null on the last page. An empty one counts as null, since it would ask for the first page again. */
export const pageToken = z
  .string()
  .nullish()
  .transform((token) => (token === null || token === '' ? undefined : token));

function repeated(operation: string): PlatformError {
  return new PlatformError(
    `${operation} should be led from page to page by new tokens, but one was given twice, so the list would never end. ` +
      'Report it to the platform, and work with the items that came so far.',
    { operation, code: 'page_token_repeated' },
  );
}
