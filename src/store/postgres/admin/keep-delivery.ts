import { rowNotKept } from '../../shared/altered-rows.ts';
import { quarantineBounds } from '../../shared/bounds.ts';
import { type QuarantineRecord, type Quarantined, claimedTraceId } from '../../quarantine-store.ts';
import { type Transaction, oneRow } from '../connection/transaction.ts';

/** Writes a delivery into quarantine, in one statement. */
export async function keepDelivery(transaction: Transaction, record: QuarantineRecord): Promise<Quarantined> {
  const { kind, reason, digest, receivedAt, headers, body, cutFrom, skipped } = record;
  const { kept, dropped } = await oneRow<{ kept: number | null; dropped: number }>(
    transaction,
    'select kept, dropped from ringback.keep_delivery($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    [
      kind,
      reason,
      digest,
      receivedAt,
      claimedTraceId(headers) ?? null,
      JSON.stringify(headers),
      Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      cutFrom ?? null,
      skipped,
      quarantineBounds.unauthenticated,
      quarantineBounds.unauthenticatedBytes,
    ],
  );
  if (kept === null) throw rowNotKept('quarantine');
  return { id: kept, dropped };
}

/** Removes deliveries from quarantine. Resolves to how many were there. In one order, so that two don't deadlock. */
export async function removeQuarantined(transaction: Transaction, ids: readonly number[]): Promise<number> {
  const removed = await transaction.query(
    `delete from ringback.quarantine where id = any (array(
       select id from ringback.quarantine where id = any ($1) order by id for update)) returning 1`,
    [ids],
  );
  return removed.length;
}
