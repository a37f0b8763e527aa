import type { KeptIn, Look } from '../../retention-store.ts';
import { type KeptContentRow, keyAfter, lookBounds, lookOf, lookUntil, looksIn } from '../../shared/looks.ts';
import type { Session } from '../connection/session.ts';
import { oneRow } from '../connection/transaction.ts';

const looks = looksIn({
  table: (name) => `ringback.${name}`,
  newLine: 'chr(10)',
  reasonsOf: (rows) => `(select string_agg(reason, chr(10)) from (${rows}) reasons)`,
  noBytes: 'null::bytea',
  after: '$1',
  until: '$2',
});

/** See `RetentionStore.look`. */
export async function look(session: Session, where: KeptIn, after: string | undefined): Promise<Look> {
  const from = keyAfter(after);
  const { first, last } = await oneRow<{ first: number | null; last: number | null }>(
    session,
    looks[where].range,
    [from],
  );
  if (first === null || last === null) return lookOf([], undefined);
  const until = lookUntil(where, first);
  const rows = await session.query<KeptContentRow>(
    `select key, "callId", "traceId", body, text, more from (
       select *, sum(coalesce(octet_length(body), 0)) over (order by key) - coalesce(octet_length(body), 0) as before
       from (${looks[where].rows}) looked) sized
     where before < ${lookBounds.bytes} order by key limit ${lookBounds.rows}`,
    [from, until],
  );
  const isFull = rows.length === lookBounds.rows || bytesOf(rows) >= lookBounds.bytes;
  const reached = isFull ? rows.at(-1)?.key : undefined;
  return lookOf(rows, reached ?? (until < last ? until : undefined));
}

const bytesOf = (rows: readonly KeptContentRow[]): number =>
  rows.reduce((sum, { body }) => sum + (body?.length ?? 0), 0);
