import type Database from 'better-sqlite3';
import {
  type Sequence,
  callKey,
  erasedIdentity,
  newIdentityKey,
  reconciledIdentity,
  writeIdentityKey,
} from '../../event-record.ts';
import { type EarlierIdentities, eraOf } from '../dedupe/eras.ts';
import { fromEventsOfCall } from './call-index.ts';
import { asText } from '../connection/parameters.ts';

/**
 * SQL: whether the inbox ever had a reconciled event. A statement that each group of deliveries needs anyway asks this,
 * so that it costs nothing in the many inboxes that never have one.
 */
export const hasReconciled = "exists (select 1 from settings where name = 'reconciled')";

/** What decides about an event that is to be written. */
interface Row {
  readonly eventName: string;
  readonly callId: string | null;
}

/**
 * Decides whether the inbox has an event under another trace id: a delivery may have been reconciled before, and an
 * event to reconcile may have been delivered. Runs inside the transaction that writes the event, of which there is one
 * at a time, so nothing can come between the look and the write.
 */
export function prepareReconciling(database: Database.Database, earlier: EarlierIdentities) {
  const noteReconciled = database.prepare(
    "insert into settings values ('reconciled', 'yes') on conflict do nothing",
  );
  const eventOfCall = database.prepare(
    `select 1 ${fromEventsOfCall} and e.event_name = ${asText('@eventName')} limit 1`,
  );
  const key = newIdentityKey();

  const isTaken = (identity: string, sequence: Sequence): boolean => {
    writeIdentityKey(identity, key);
    return earlier.find(key, eraOf(sequence) + 1) !== undefined;
  };

  return {
    /** Whether an event to reconcile is in the inbox, or its call was erased. */
    wasDelivered({ eventName, callId }: Row, sequence: Sequence): boolean {
      if (callId === null) return false;
      if (eventOfCall.get({ key: callKey(callId), callId, eventName }) !== undefined) return true;
      return isTaken(erasedIdentity(callId), sequence);
    },

    /** Whether a delivered event was reconciled before. */
    wasReconciled({ eventName, callId }: Row, sequence: Sequence): boolean {
      const identity = reconciledIdentity(eventName, callId);
      return identity !== undefined && isTaken(identity, sequence);
    },

    /** Notes that an event was reconciled: from now on, deliveries are checked. */
    note(): void {
      noteReconciled.run();
    },
  };
}
