import type { FailureGroup, FailureQuery, FailureStore } from '../../failure-store.ts';
import type { Session } from '../connection/session.ts';
import { fromText, fromTextOrUndefined, toTextOrNull } from '../connection/text.ts';

interface Row extends Omit<FailureGroup, 'place' | 'traceId'> {
  readonly place: string | null;
  readonly traceId: string | null;
}

/** The failures of a Postgres inbox. */
export class PostgresFailures implements FailureStore {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async groups({ handler, limit }: FailureQuery): Promise<readonly FailureGroup[]> {
    const rows = await this.#session.query<Row>(
      `select fingerprint as id, g.handler, cause, place, message, dead, retrying, first_seen_at as "firstSeenAt",
         last_seen_at as "lastSeenAt", trace_id as "traceId"
       from (
         select failure, count(*) filter (where state = 'dead') as dead,
           count(*) filter (where state <> 'dead') as retrying, max(settled_at) as last_seen_at,
           max(sequence) as sequence
         from ringback.runs where failure is not null group by failure) counted
       join ringback.failure_groups g on fingerprint = failure left join ringback.events using (sequence)
       where $1::text is null or g.handler = $1 order by last_seen_at desc, fingerprint limit $2`,
      [toTextOrNull(handler), limit],
    );
    return rows.map((row) => ({
      ...row,
      handler: fromText(row.handler),
      cause: fromText(row.cause),
      message: fromText(row.message),
      place: fromTextOrUndefined(row.place),
      traceId: fromTextOrUndefined(row.traceId),
    }));
  }
}
