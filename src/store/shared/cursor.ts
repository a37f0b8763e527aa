/** Cursors: where a page of a list ended. Only the store that gave one reads it; for everyone else it is a text. */
import { configError } from '../../errors/errors.ts';
import { describe } from '../../errors/option-problems.ts';

/** The lists that have pages. */
type List = 'events' | 'calls' | 'quarantine' | 'audit';

/** A whole number that survives the way through JavaScript. */
const wholeNumber = /^[1-9]\d{0,14}$/;

/** The cursor of the next page, after an entry with this number. It names its list, so that no other accepts it. */
export function cursorAfter(list: List, last: number): string {
  return Buffer.from(`${list} ${last}`).toString('base64url');
}

/** The cursor of the page after one with these entries; undefined unless that page is full. */
export function nextCursor(list: List, entries: readonly number[], limit: number): string | undefined {
  const last = entries.length === limit ? entries.at(-1) : undefined;
  return last === undefined ? undefined : cursorAfter(list, last);
}

/**
 * The number of the entry after which a page begins; undefined for the first page.
 *
 * @throws ConfigError `cursor_invalid` for a cursor that no page of this list has had
 */
export function numberIn(list: List, cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  const [named, last = ''] = Buffer.from(cursor, 'base64url').toString().split(' ');
  const number = Number(last);
  // Decoding skips what isn't base64url.
  if (named === list && wholeNumber.test(last) && cursorAfter(list, number) === cursor) return number;
  throw configError('cursor_invalid', { list: `${list}.list`, found: describe(cursor) });
}
