import type { Sequence } from '../../event-record.ts';
import { isInvalidData } from '../connection/statement.ts';
import type { Session } from '../connection/session.ts';
import { oneRow } from '../connection/transaction.ts';
import { lockEventsOf } from './holding.ts';
import type { Recorded } from './record.ts';
import type { EndedEvents, Processes } from './processes.ts';

/** How many events a heartbeat names at the most: each look at an event that is owned compares it with all of them. */
const maxExcepted = 64;

/** The events that this process has claimed as it recorded them, and has not ended. */
export class OwnedEvents {
  readonly #session: Session;
  readonly #processes: Processes;
  readonly #sequences = new Set<Sequence>();
  /** The highest sequence that was known as each group of events began to be recorded. */
  readonly #groups = new Set<{ readonly after: Sequence }>();
  /** Claims that this process has made and may not work on. */
  readonly #refused = new Set<Sequence>();
  #highest: Sequence = 0;
  /** What `#highest` was at the last heartbeat. */
  #highestBefore: Sequence = 0;
  #isUncertain = false;

  constructor(session: Session, processes: Processes) {
    this.#session = session;
    this.#processes = processes;
  }

  /** Whether there may be events that this process owns and doesn't know of. */
  get isUncertain(): boolean {
    return this.#isUncertain;
  }

  has(sequence: Sequence): boolean {
    return this.#sequences.has(sequence);
  }

  delete(sequence: Sequence): void {
    this.#sequences.delete(sequence);
  }

  /** Called when this process has another id, under which it owns nothing yet. */
  clear(): void {
    this.#sequences.clear();
    this.#refused.clear();
    this.#isUncertain = false;
    this.#highest = 0;
    this.#highestBefore = 0;
  }

  /**
   * Sequences up to this one have been given, so whatever begins to be recorded from now on has higher ones. Without that,
   * `ended().upTo` would stand still in a process that records little, and whoever looks for what it owns would go through all
   * that others have recorded.
   */
  noteGiven(last: Sequence): void {
    this.#highest = Math.max(this.#highest, last);
  }

  /**
   * What has ended, for a heartbeat; undefined while that is uncertain. A group that is being recorded counts by the highest
   * sequence known as it began, because its own are higher. What was there at the heartbeat before, and has not ended, is named
   * by itself, the first of it: the low-water mark must not stand still for as long as one handler takes.
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

  /** Records a group, and notes which of its events this process then owns. */
  async recording(record: () => Promise<readonly Recorded[]>): Promise<readonly Recorded[]> {
    const group = { after: this.#highest };
    this.#groups.add(group);
    try {
      const recorded = await record();
      for (const { sequence, claimedBy } of recorded) {
        if (sequence === undefined) continue;
        this.#highest = Math.max(this.#highest, sequence);
        if (claimedBy !== undefined) this.#sequences.add(sequence);
      }
      return recorded;
    } catch (error) {
      // The answer may have been lost on its way, and the events recorded.
      if (!isInvalidData(error)) this.#isUncertain = true;
      throw error;
    } finally {
      this.#groups.delete(group);
    }
  }

  /** Has claims given back by the next recovery: events that this process doesn't know of come before them. */
  refuse(sequences: readonly Sequence[]): void {
    for (const sequence of sequences) this.#refused.add(sequence);
  }

  /**
   * Gives back the events that this process owns without knowing it, because the answer to their recording was lost, and the
   * claims that it may not work on. The senders of the former got 503 and send copies, but these are duplicates, so that nobody
   * would handle the events. Called while nothing is being recorded or claimed; the next heartbeat tries again if it can't be
   * done yet.
   */
  async recover(): Promise<void> {
    const recoveries = await this.#session.write(async (transaction) => {
      const { id } = this.#processes;
      // Not while a statement still runs whose connection was lost. One that begins later claims nothing.
      const { isOver } = await oneRow<{ isOver: boolean }>(
        transaction,
        `select pg_try_advisory_xact_lock(hashtextextended('ringback.recordings', $1)) as "isOver"`,
        [id],
      );
      if (!isOver) return undefined;
      // First: it may wait for a removal, and with this process's row locked no heartbeat could be written meanwhile.
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
    this.#processes.noteRecovery(recoveries);
    this.#refused.clear();
    this.#isUncertain = false;
  }
}
