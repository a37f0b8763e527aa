import type { Sequence } from '../../event-record.ts';
import { isInvalidData } from '../connection/statement.ts';
import type { Session } from '../connection/session.ts';
import { oneRow } from '../connection/transaction.ts';
import { lockEventsOf } from './holding.ts';
import type { Recorded } from '../../shared/found-work.ts';
import type { EndedEvents, Processes } from './processes.ts';

/** How many events a heartbeat names at most: each query for owned events compares with all of them. */
const maxExcepted = 64;

/** The events that this process claimed as it recorded them, and whose claims have not ended. */
export class OwnedEvents {
  readonly #session: Session;
  readonly #processes: Processes;
  readonly #sequences = new Set<Sequence>();
  /** For each group being recorded, the highest sequence that was known when its recording began. */
  readonly #groups = new Set<{ readonly after: Sequence }>();
  /** Claims that this process has made but may not work on. */
  readonly #refused = new Set<Sequence>();
  #highest: Sequence = 0;
  /** The value of `#highest` at the last heartbeat. */
  #highestBefore: Sequence = 0;
  #isUncertain = false;

  constructor(session: Session, processes: Processes) {
    this.#session = session;
    this.#processes = processes;
  }

  /** Whether this process may own events that it doesn't know of. */
  get isUncertain(): boolean {
    return this.#isUncertain;
  }

  has(sequence: Sequence): boolean {
    return this.#sequences.has(sequence);
  }

  delete(sequence: Sequence): void {
    this.#sequences.delete(sequence);
  }

  /** Call when this process has another id, under which it owns nothing yet. */
  clear(): void {
    this.#sequences.clear();
    this.#refused.clear();
    this.#isUncertain = false;
    this.#highest = 0;
    this.#highestBefore = 0;
  }

  /**
   * Notes that sequences up to this one have been given, so that events recorded from now on have higher ones.
   * Otherwise, `ended().upTo` would not advance in a process that records little, and searches for what it owns would
   * go through all that others have recorded.
   */
  noteGiven(last: Sequence): void {
    this.#highest = Math.max(this.#highest, last);
  }

  /**
   * What has ended, for a heartbeat; undefined while that is uncertain. A group being recorded holds the mark at the
   * highest sequence known when it began, because its own are higher. The first events that were already there at the
   * last heartbeat, and have not ended, are named singly, so that one slow handler doesn't hold the mark back.
   */
  ended(): EndedEvents | undefined {
    if (this.#isUncertain) return undefined;
    const left = [...this.#sequences].toSorted((one, other) => one - other);
    const except = left.filter((sequence) => sequence <= this.#highestBefore).slice(0, maxExcepted);
    const next = left[except.length] ?? Infinity;
    const groups = [...this.#groups].map(({ after }) => after);
    this.#highestBefore = this.#highest;
    return { upTo: Math.min(this.#highest, next - 1, ...groups), except };
  }

  /** Makes a write that records a group, and notes which of its events this process then owns. */
  async noteRecorded(write: () => Promise<readonly Recorded[]>): Promise<readonly Recorded[]> {
    const group = { after: this.#highest };
    this.#groups.add(group);
    try {
      const recorded = await write();
      for (const { sequence, claimedBy } of recorded) {
        if (sequence === undefined) continue;
        this.#highest = Math.max(this.#highest, sequence);
        if (claimedBy !== undefined) this.#sequences.add(sequence);
      }
      return recorded;
    } catch (error) {
      // The events may have been recorded, and the answer lost.
      if (!isInvalidData(error)) this.#isUncertain = true;
      throw error;
    } finally {
      this.#groups.delete(group);
    }
  }

  /** Lets the next recovery give back these claims: events that this process owns without knowing it come before them. */
  refuse(sequences: readonly Sequence[]): void {
    for (const sequence of sequences) this.#refused.add(sequence);
  }

  /**
   * Gives back the claims that this process may not work on, and the events that it owns without knowing it, because
   * the answer to their recording was lost. Their senders got 503 and send copies, but these are duplicates: without
   * this, nobody would handle the events. Call it while nothing is being recorded or claimed. If it isn't possible yet,
   * the next heartbeat tries again.
   */
  async recover(): Promise<void> {
    const recoveries = await this.#session.write(async (transaction) => {
      const { id } = this.#processes;
      // Not while a statement of a lost connection still runs. One that begins later claims nothing.
      const { isOver } = await oneRow<{ isOver: boolean }>(
        transaction,
        `select pg_try_advisory_xact_lock(hashtextextended('ringback.recordings', $1)) as "isOver"`,
        [id],
      );
      if (!isOver) return undefined;
      // Before the update, because this may wait for a removal, and the updated row would block heartbeats meanwhile.
      await lockEventsOf(transaction, id);
      const [row] = await transaction.query<{ recoveries: number }>(
        'update ringback.processes set recoveries = recoveries + 1 where id = $1 returning recoveries',
        [id],
      );
      await transaction.query(
        `with unknown as materialized (
           select sequence, call_id from ringback.all_owned where process = $1 and sequence <> all ($2::bigint[])
         ), ended as (
           insert into ringback.ended (process, first, last) select $1, sequence, sequence from unknown
         )
         insert into ringback.waiting (sequence, call_id) select sequence, call_id from unknown`,
        [id, [...this.#sequences]],
      );
      await transaction.query(
        `with refused as (
           delete from ringback.claims where process = $1 and sequence = any ($2::bigint[]) returning sequence, call_id
         )
         insert into ringback.waiting (sequence, call_id) select sequence, call_id from refused`,
        [id, [...this.#refused]],
      );
      return row?.recoveries;
    });
    if (recoveries === undefined) return;
    this.#processes.recoveries = recoveries;
    this.#refused.clear();
    this.#isUncertain = false;
  }
}
