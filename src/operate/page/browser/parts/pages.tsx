/** The way through a list that is longer than one page. */
import { linkTo } from '../router.ts';

/** How many rows a page has. */
export const pageSize = 100;

export function Pages({
  view,
  query,
  next,
}: {
  readonly view: string;
  readonly query: Readonly<Record<string, string>>;
  readonly next: string | undefined;
}) {
  const { cursor, ...filter } = query;
  if (!cursor && !next) return null;
  return (
    <nav class="pages" aria-label="Pages">
      {cursor && <a href={linkTo([view], filter)}>← Latest</a>}
      {next && <a href={linkTo([view], { ...filter, cursor: next })}>Older →</a>}
    </nav>
  );
}
