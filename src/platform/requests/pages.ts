import { z } from 'zod';
import type { Connection } from './connection.ts';
import { PlatformError } from './platform-error.ts';
import type { PlatformRequest } from './request.ts';

interface Listing extends Pick<PlatformRequest, 'operation' | 'path' | 'signal'> {
  readonly pageSize: number;
}

/** The query of a page. `page_size` is always sent, because the platform requires it. */
export function pageQuery(size: number, token?: string): Readonly<Record<string, string>> {
  return { page_size: String(size), ...(token !== undefined && { page_token: token }) };
}

/** Yields every item. A token that is repeated ends the listing with an error, because it would never end itself. */
export async function* everyItem<Page extends { readonly next_page_token: string | undefined }, Item>(
  connection: Connection,
  { pageSize, ...request }: Listing,
  shape: z.ZodType<Page>,
  itemsOf: (page: Page) => readonly Item[],
): AsyncGenerator<Item, void, undefined> {
  const seen = new Set<string>();
  let token: string | undefined;
  do {
    const query = pageQuery(pageSize, token);
    const page = await connection.send({ ...request, method: 'GET', query }, shape);
    for (const item of itemsOf(page)) {
      yield item;
      request.signal?.throwIfAborted();
    }
    token = page.next_page_token;
    if (token !== undefined && seen.has(token)) throw repeated(request.operation);
    if (token !== undefined) seen.add(token);
  } while (token !== undefined);
}

/** The token is null on the last page. An empty one counts as null: it would request the first page again. */
export const pageToken = z
  .string()
  .nullish()
  .transform((token) => (token === null || token === '' ? undefined : token));

function repeated(operation: string): PlatformError {
  return new PlatformError(
    `${operation} should get a new token for each page, but got the same token twice, so the list would never end. ` +
      'Report it to the support of the platform, and use the items that have been read so far.',
    { operation, code: 'page_token_repeated' },
  );
}
