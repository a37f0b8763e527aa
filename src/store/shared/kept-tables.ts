/** The tables that are moved from one store to another. Processes, claims, rates, history and alerts are not. */

/** The kind of a column's values. */
export type ColumnKind = 'text' | 'number' | 'bytes';
export type KeptValue = string | number | Uint8Array | null;
/** The values of a row, in the order of the columns. */
export type KeptRow = readonly KeptValue[];

/** In the order in which they are moved: a run needs its event. */
const keptTables = {
  events: {
    sequence: 'number',
    trace_id: 'text',
    event_name: 'text',
    call_id: 'text',
    organization_id: 'text',
    agent_id: 'text',
    occurred_at: 'number',
    received_at: 'number',
    facts: 'text',
    source: 'text',
  },
  bodies: { sequence: 'number', headers: 'text', body: 'bytes' },
  identities: { identity: 'bytes', sequence: 'number', expires_at: 'number' },
  // New events, those with a claim included.
  waiting: { sequence: 'number', call_id: 'text' },
  crash_counts: { sequence: 'number', count: 'number', reading_crashes: 'number' },
  duplicates: { sequence: 'number', count: 'number', first_seen_at: 'number', last_seen_at: 'number' },
  runs: {
    sequence: 'number',
    handler: 'text',
    call_id: 'text',
    state: 'text',
    attempts: 'number',
    due_at: 'number',
    reason: 'text',
    settled_at: 'number',
    replay: 'number',
    failure: 'text',
  },
  failures: {
    sequence: 'number',
    handler: 'text',
    number: 'number',
    attempt: 'number',
    at: 'number',
    duration: 'number',
    outcome: 'text',
    cause: 'text',
    location: 'text',
    reason: 'text',
  },
  failure_groups: {
    fingerprint: 'text',
    handler: 'text',
    cause: 'text',
    location: 'text',
    message: 'text',
    first_seen_at: 'number',
    muted_at: 'number',
  },
  joins: {
    handler: 'text',
    call_id: 'text',
    seen: 'text',
    settled: 'text',
    reruns: 'number',
    progress: 'text',
    replay: 'number',
  },
  quarantine: {
    id: 'number',
    kind: 'text',
    reason: 'text',
    digest: 'text',
    received_at: 'number',
    trace_id: 'text',
    cut_from: 'number',
    headers: 'text',
    body: 'bytes',
  },
  quarantine_totals: { kind: 'text', dropped: 'number' },
  drift: {
    event_name: 'text',
    path: 'text',
    kind: 'text',
    first_seen_at: 'number',
    last_seen_at: 'number',
    count: 'number',
  },
  audit: {
    id: 'number',
    action: 'text',
    requested_at: 'number',
    requested_by: 'text',
    reason: 'text',
    what: 'text',
    events: 'number',
    runs: 'number',
    finished_at: 'number',
    begun_after: 'number',
    up_to: 'number',
    reached: 'number',
    handlers: 'text',
    stopped_at: 'number',
  },
  paused_handlers: { handler: 'text', since: 'number', paused_by: 'text', reason: 'text' },
  settings: { name: 'text', value: 'text' },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ColumnKind>>>>;

export type KeptTable = keyof typeof keptTables;

/** In the order in which the tables are moved. */
export const keptTableNames = Object.keys(keptTables) as readonly KeptTable[];

export function columnsOf(table: KeptTable): readonly (readonly [name: string, kind: ColumnKind])[] {
  return Object.entries(keptTables[table]);
}

export function columnNames(table: KeptTable): readonly string[] {
  return columnsOf(table).map(([name]) => name);
}

/** The key column that is bytes: in a progress, which is JSON, it is written in hexadecimal. */
export const bytesKey = 'identity';

/** The key columns of each table. Rows are moved in their order, for which there is an index. */
export const keptKeys: Readonly<Record<KeptTable, readonly string[]>> = {
  events: ['sequence'],
  bodies: ['sequence'],
  identities: [bytesKey],
  waiting: ['sequence'],
  crash_counts: ['sequence'],
  duplicates: ['sequence'],
  runs: ['sequence', 'handler'],
  failures: ['sequence', 'handler', 'number'],
  failure_groups: ['fingerprint'],
  joins: ['handler', 'call_id'],
  quarantine: ['id'],
  quarantine_totals: ['kind'],
  drift: ['event_name', 'path', 'kind'],
  audit: ['id'],
  paused_handlers: ['handler'],
  settings: ['name'],
};

/** The bounds of one page: it is in memory as a whole, and one transaction writes it. */
export const pageBounds = { rows: 500, bytes: 8 * 1024 * 1024 };
