/** A paged list of the API: its filter, a table, and links to the other pages. */
import type { ComponentChildren } from 'preact';
import { withQuery } from '../api/client.ts';
import { useResource } from '../api/use-resource.ts';
import { type Route, linkTo } from '../router.ts';
import { type Field, FilterForm } from './filter-form.tsx';
import { Empty, Loaded } from './standing.tsx';
import { type Column, Table } from './table.tsx';

const pageSize = 100;

interface ListProps<Found, Row> {
  /** Its name in the address and in the API. */
  readonly view: string;
  readonly query: Route['query'];
  readonly fields: readonly Field[];
  /** The topics that change it. */
  readonly topics: readonly string[];
  readonly rowsOf: (found: Found) => readonly Row[];
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string | number;
  /** Shown if there are no rows. */
  readonly children: ComponentChildren;
}

export function List<Found extends { readonly cursor?: string | undefined }, Row>({
  view,
  query,
  fields,
  topics,
  rowsOf,
  children,
  ...table
}: ListProps<Found, Row>) {
  const resource = useResource<Found>(withQuery(`/${view}`, { ...query, limit: pageSize }), topics);
  const { cursor, ...filter } = query;
  return (
    <>
      <FilterForm view={view} fields={fields} query={query} />
      <Loaded resource={resource}>
        {(found) => {
          const rows = rowsOf(found);
          if (rows.length === 0 && !cursor) return children;
          const next = found.cursor;
          return (
            <>
              {rows.length > 0 ? <Table {...table} rows={rows} /> : <Empty title="There is nothing older." />}
              {(cursor || next) && (
                <nav class="pages" aria-label="Pages">
                  {cursor && <a href={linkTo([view], filter)}>← Latest</a>}
                  {next && <a href={linkTo([view], { ...filter, cursor: next })}>Older →</a>}
                </nav>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}
