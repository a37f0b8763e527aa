import type Database from 'better-sqlite3';
import { messageOf } from '../../../kit/error-text.ts';
import { recordTimeout } from './commit-group.ts';
import {
  type WriteItem,
  type WriteResult,
  codeOf,
  hasChanged,
  isDelivery,
  isEvent,
  lost,
  probe,
  settled,
} from './commit-message.ts';
import { isDiskError, isDiskFull, isLocked } from '../connection/connection.ts';
import type { EarlierIdentities } from '../dedupe/earlier-identities.ts';
import { prepareKeepDelivery } from '../admin/keep-delivery.ts';
import type { LogFile } from '../connection/wal-file.ts';
import { setPragma } from '../connection/pragma.ts';
import type { Holder } from '../work/processes.ts';
import { prepareRecord } from '../work/record.ts';
import { prepareSettling } from '../work/settle.ts';

/** Says what is still to be written. */
export type Wanted = () => readonly WriteItem[];

/**
 * Writes all items in one transaction. They are asked for once the lock is there: what was given up before another
 * process let go of it must not be written. Returns what became of each, or the reason why it failed.
 * Undefined when another process has the lock, and nothing was done.
 */
export type WriteGroup = (wanted: Wanted) => (WriteResult | string)[] | undefined;

/**
 * Events are written first and together, because they share what is read from the inbox for them; then claims are
 * ended, runs settled, and deliveries put into quarantine. When the disk refuses something, the transaction is rolled back and the log file is told:
 * what other connections wrote before may be missing on disk too, or the disk is full.
 */
export function prepareWriteGroup(
  database: Database.Database,
  holder: Holder,
  earlier: EarlierIdentities,
  log: Pick<LogFile, 'hear' | 'makeSure'>,
): WriteGroup {
  const record = prepareRecord(database, holder, earlier);
  const keepDelivery = prepareKeepDelivery(database);
  const settling = prepareSettling(database, holder);
  // IMMEDIATE: a transaction that begins by reading and then wants to write can be refused in the middle.
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const touch = database.prepare('update processes set heartbeats = heartbeats + 1 where id = ?');
  let hasDiskRefused = false;

  /** Whether the disk takes a write again is known only when something has been written. */
  const answerProbe = (): number => {
    if (!hasDiskRefused) return lost;
    holder.ensureEntered();
    touch.run(holder.id);
    return settled;
  };

  const write = (items: readonly WriteItem[]): WriteResult[] => {
    const recorded = record(items.filter(isEvent))[Symbol.iterator]();
    const ended = settling.endClaims(items.filter((item) => typeof item === 'number'))[Symbol.iterator]();
    return items.map((item) => {
      if (item === probe) return answerProbe();
      if (typeof item === 'number') return ended.next().value ? settled : lost;
      if (isEvent(item)) return codeOf(recorded.next().value ?? { sequence: undefined, isClaimed: false });
      if (isDelivery(item)) return keepDelivery(item);
      return settling.settle(item) === 'settled' ? settled : lost;
    });
  };

  const inTransaction = (wanted: Wanted): WriteResult[] => {
    begin.run();
    try {
      const results = write(wanted());
      commit.run();
      if (results.some(hasChanged)) hasDiskRefused = false;
      return results;
    } catch (error) {
      log.hear(error);
      hasDiskRefused ||= isDiskError(error) || isDiskFull(error);
      throw error;
    } finally {
      // A statement that failed may have ended the transaction by itself; a commit that failed has not.
      if (database.inTransaction) database.exec('rollback');
    }
  };

  /**
   * The group failed as a whole, so nothing of it is stored: writes each item by itself, to find out which one fails.
   */
  const oneByOne = (items: readonly WriteItem[]): (WriteResult | string)[] => {
    // Another process may take the lock between two of these transactions.
    setPragma(database, `busy_timeout = ${recordTimeout}`);
    const results = items.map((item) => {
      try {
        // If it was the disk that refused, the next sync may succeed, and yet not count.
        log.makeSure();
        return inTransaction(() => [item])[0] ?? lost;
      } catch (error) {
        return messageOf(error);
      }
    });
    setPragma(database, 'busy_timeout = 0');
    return results;
  };

  return (wanted) => {
    try {
      return inTransaction(wanted);
    } catch (error) {
      if (isLocked(error)) return undefined;
      const items = wanted();
      return items.length === 1 ? [messageOf(error)] : oneByOne(items);
    }
  };
}
