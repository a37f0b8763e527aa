import { type ComponentChildren, Fragment } from 'preact';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Counts are aligned at the right; wide cells may take several lines. */
  readonly looks?: 'count' | 'wide';
}

/** A table in its own region, which the keyboard can scroll. */
export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  below = () => undefined,
}: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  /** What is shown in a row of its own beneath a row, across all columns; nothing if undefined. */
  readonly below?: (row: Row) => ComponentChildren;
}) {
  return (
    <div class="table" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(({ head, looks }) => (
              <th key={head} scope="col" class={looks === 'count' ? looks : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const more = below(row);
            return (
              <Fragment key={keyOf(row)}>
                <tr>
                  {columns.map(({ head, cell, looks }) => (
                    <td key={head} class={looks}>
                      {cell(row)}
                    </td>
                  ))}
                </tr>
                {more && (
                  <tr class="below">
                    <td colSpan={columns.length}>
                      <div>{more}</div>
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
