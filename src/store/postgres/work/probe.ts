import type { Transaction } from '../connection/transaction.ts';

/**
 * Writes as a delivery does, and takes it back: a database that can be read may still be a standby, or have a full disk. No
 * identity is empty, so that no event is in the way.
 */
const writeAndTakeBack = "begin; insert into ringback.identities (identity) values (''); rollback";

/** Resolves when the database would take a delivery, and rejects when it would not. */
export async function probe(intake: Transaction): Promise<void> {
  await intake.query(writeAndTakeBack);
}
