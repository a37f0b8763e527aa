import type Database from 'better-sqlite3';
import { type CallEventRow, callRecordOf } from '../../calls/timeline.ts';
import type { CallFilter, CallPage } from '../call-store.ts';

interface FoundRow {
  readonly call_id: string;
  readonly first_sequence: number;
}

/** Lists calls, those first seen latest first, in pages. */
export function prepareCallList(database: Database.Database, eventsOf: (callId: string) => CallEventRow[]) {
  const page = database.prepare(`
    select call_id, first_sequence from call_records
    where (@before is null or first_sequence < @before)
      and (@agentId is null or agent_id = @agentId) and (@status is null or status = @status)
      and (@since is null or first_seen_at >= @since) and (@until is null or first_seen_at < @until)
    order by first_sequence desc limit @limit`);

  return ({ agentId, status, since, until, limit, cursor }: CallFilter): CallPage => {
    const found = page.all({
      agentId: agentId ?? null,
      status: status ?? null,
      since: since ?? null,
      until: until ?? null,
      before: cursor === undefined ? null : Number(cursor),
      // One more than asked for tells whether there is another page.
      limit: limit + 1,
    }) as FoundRow[];
    const shown = found.slice(0, limit);
    const last = found.length > limit ? shown.at(-1) : undefined;
    return {
      calls: shown.map((row) => callRecordOf(row.call_id, eventsOf(row.call_id))),
      cursor: last && String(last.first_sequence),
    };
  };
}
