/** In a big inbox, a look for events must not read what it does not need. */
import { expect, test } from 'vitest';
import type { EventFilter } from '../../../src/store/event-store.ts';
import { openDatabase } from '../../../src/store/sqlite/connection/connection.ts';
import { indexesFor, searchSql } from '../../../src/store/sqlite/query/event-search.ts';

const filters: readonly EventFilter[] = [
  {},
  { eventName: 'x' },
  { agentId: 'x' },
  { handler: 'x' },
  { traceId: 'x' },
  { since: 1, until: 2 },
  { callId: 'x' },
  { state: 'new' },
  { state: 'open' },
  { state: 'done' },
  { state: 'dead' },
  { state: 'dead', handler: 'x', agentId: 'x' },
  { failure: 'x' },
  { failure: 'x', state: 'dead' },
  { state: 'done', agentId: 'x', callId: 'x' },
];

test.each(filters)('no search for %j scans the rows with their bodies, or sorts', (filter) => {
  const db = openDatabase(':memory:');
  const given = {
    eventName: '',
    callId: '',
    callKey: 0,
    agentId: '',
    handler: null,
    since: 0,
    until: 0,
    traceId: '',
    failure: '',
  };
  for (const index of [undefined, ...indexesFor(filter)])
    for (const latestFirst of [true, false]) {
      const statement = db.prepare(`explain query plan ${searchSql(filter, latestFirst, index)}`);
      const plan = statement.all({ ...given, from: 1, to: 2, limit: 1 }) as { detail: string }[];
      const details = plan.map(({ detail }) => detail);
      expect(details.filter((detail) => /^SCAN (?:e|runs)$|bodies|TEMP B-TREE/.test(detail))).toEqual([]);
      expect(details.filter((detail) => detail.startsWith('SEARCH e '))).toHaveLength(1);
    }
  db.close();
});
