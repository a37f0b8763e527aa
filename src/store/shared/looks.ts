/** What the SQL stores share for finding what to erase. */
import type { Kept, KeptIn, Look } from '../retention-store.ts';

/** The bounds of one look, which deliveries may have to wait for. */
export const lookBounds = { rows: 200, bytes: 4 * 1024 * 1024 };

/**
 * The last key of a look that begins at `first`. A look for events without a call goes through more: most events have a
 * call, and are skipped quickly.
 */
export function lookUntil(where: KeptIn, first: number): number {
  return first - 1 + (where === 'events_without_call' ? 5_000 : lookBounds.rows);
}

/** The key after which a look begins, by what the previous look says. */
export function keyAfter(after: string | undefined): number {
  return Number(after ?? 0);
}

/** The result of a look. `reached`: the key after which the next look begins, if there is one. */
export function lookOf(rows: readonly KeptContentRow[], reached: number | undefined): Look {
  return { found: rows.map(keptOf), next: reached === undefined ? undefined : String(reached) };
}

export interface KeptContentRow {
  readonly key: number;
  readonly callId: string | null;
  readonly traceId: string | null;
  readonly body: Buffer | null;
  readonly text: string | null;
  readonly more: string | null;
}

function keptOf({ key, callId, traceId, body, text, more }: KeptContentRow): Kept {
  const texts = [text, more].filter((content) => content !== null);
  return {
    key,
    callId: callId ?? undefined,
    traceId: traceId ?? undefined,
    contents: body === null ? texts : [body, ...texts],
  };
}

/** The parts of the SQL that differ by database. */
interface Dialect {
  /** The name of a table in a statement. */
  readonly table: (name: string) => string;
  readonly newLine: string;
  /** An expression that joins the column `reason` of all rows into one text. */
  readonly reasonsOf: (rows: string) => string;
  readonly noBytes: string;
  /** The parameters for the key after which a look begins, and for the last key. */
  readonly after: string;
  readonly until: string;
}

/** SQL for each place where a person's data can be: the range of keys after a key, and the rows of a look. */
export function looksIn({
  table,
  newLine,
  reasonsOf,
  noBytes,
  after,
  until,
}: Dialect): Readonly<Record<KeptIn, { readonly range: string; readonly rows: string }>> {
  // In two selects: in one, SQLite goes through all keys between the two.
  const edge = (name: string, key: string, which: 'min' | 'max') =>
    `(select ${which}(${key}) from ${table(name)} where ${key} > ${after})`;
  const looked = (name: string, key: string, contents: string, from = table(name), condition = '') => ({
    range: `select ${edge(name, key, 'min')} as first, ${edge(name, key, 'max')} as last`,
    rows: `select ${key} as key, ${contents} from ${from} where ${key} > ${after} and ${key} <= ${until} ${condition}`,
  });
  // The stored headers don't repeat the event's name and trace id, which are in its row.
  const ofEvent = ['headers', 'facts', 'trace_id', 'event_name', "coalesce(agent_id, '')"];
  const events = (condition: string) =>
    looked(
      'events',
      'sequence',
      `call_id as "callId", trace_id as "traceId", body, ${ofEvent.join(` || ${newLine} || `)} as text,
        ${reasonsOf(`select reason from ${table('runs')} r where r.sequence = e.sequence union all
          select reason from ${table('failures')} f where f.sequence = e.sequence`)} as more`,
      `${table('events')} e join ${table('bodies')} b using (sequence)`,
      condition,
    );
  const ofNoCall = 'null as "callId", null as "traceId"';
  return {
    events: events(''),
    events_without_call: events('and call_id is null'),
    quarantine: looked('quarantine', 'id', `${ofNoCall}, body, headers as text, null as more`),
    audit: looked(
      'audit',
      'id',
      `${ofNoCall}, ${noBytes} as body, what as text,
        coalesce(requested_by, '') || ${newLine} || coalesce(reason, '') as more`,
    ),
    failure_groups: looked(
      'failure_groups',
      'id',
      `${ofNoCall}, ${noBytes} as body, message as text, null as more`,
    ),
  };
}
