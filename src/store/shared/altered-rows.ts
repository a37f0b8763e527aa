/** Notices rows that somebody has edited, or keeps out of the inbox by a trigger. */
import type { CallFacts } from '../../calls/timeline.ts';
import { ringbackError } from '../../errors/errors.ts';
import type { Headers } from '../../events/model.ts';

/** What is in each column. */
interface Columns {
  readonly 'bodies.headers': Headers;
  readonly 'events.facts': CallFacts;
  readonly 'quarantine.headers': Headers;
}

/** By what a row of each is found. */
const keys: Readonly<Record<keyof Columns, string>> = {
  'bodies.headers': 'sequence',
  'events.facts': 'trace_id',
  'quarantine.headers': 'id',
};

/**
 * The JSON in a column of the row with a key.
 *
 * @throws RingbackError `row_damaged`
 */
export function storedJson<Column extends keyof Columns>(
  json: string,
  column: Column,
  key: number | string,
): Columns[Column] {
  try {
    return JSON.parse(json) as Columns[Column];
  } catch {
    throw ringbackError('row_damaged', { column, row: `${keys[column]} = ${JSON.stringify(key)}` });
  }
}

/** The error if a trigger has kept a row out silently, by `raise(ignore)`: nothing may go on as if it were there. */
export function rowNotKept(table: string): Error {
  return new Error(`a row was not kept in ${table}`);
}
