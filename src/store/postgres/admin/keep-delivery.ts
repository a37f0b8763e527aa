import type { Headers } from '../../../events/model.ts';
import { quarantineBounds } from '../../shared/bounds.ts';
import type { QuarantineRecord, Quarantined } from '../../quarantine-store.ts';
import type { Session } from '../connection/session.ts';
import type { Transaction } from '../connection/transaction.ts';
import { toText } from '../connection/text.ts';

/** Writes a delivery into quarantine, in one statement. */
export async function keepDelivery(session: Session, record: QuarantineRecord): Promise<Quarantined> {
  const { kind, reason, digest, receivedAt, headers, body, cutFrom, skipped } = record;
  const [row] = await session.query<{ kept: number; dropped: number }>(
    'select kept, dropped from ringback.keep_delivery($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    [
      kind,
      reason,
      digest,
      receivedAt,
      // A column of its own: a header that Postgres can't read as JSON must not break every list.
      claimedTraceId(headers),
      toText(JSON.stringify(headers)),
      Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      cutFrom ?? null,
      skipped,
      quarantineBounds.unauthenticated,
      quarantineBounds.unauthenticatedBytes,
    ],
  );
  if (!row) throw new Error('The database has kept nothing.');
  return { id: row.kept, dropped: row.dropped };
}

/** The trace id in the header; of several, all of them. */
export function claimedTraceId({ 'x-webhook-traceid': traceId }: Headers): string | null {
  if (traceId === undefined) return null;
  return toText(typeof traceId === 'string' ? traceId : JSON.stringify(traceId));
}

/** Removes deliveries from quarantine. Resolves to how many were there. */
export async function removeQuarantined(transaction: Transaction, ids: readonly number[]): Promise<number> {
  const [row] = await transaction.query<{ removed: number }>(
    'select ringback.remove_quarantined($1) as removed',
    [ids],
  );
  return row?.removed ?? 0;
}

/** Nobody else changes the quarantine until the transaction ends. */
export async function lockQuarantine(transaction: Transaction): Promise<void> {
  await transaction.query('select ringback.lock_quarantine()');
}
