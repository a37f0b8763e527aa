import type { Sequence } from '../../sequence.ts';
import { isInvalidData } from '../connection/statement.ts';
import type { Session } from '../connection/session.ts';
import type { Recorded } from './record.ts';
import type { Processes } from './processes.ts';

/** The events that this process has claimed as it recorded them, and has not ended. */
export class OwnedEvents {
  readonly #session: Session;
  readonly #processes: Processes;
  readonly #sequences = new Set<Sequence>();
  /** The highest sequence that was known as each group of events began to be recorded. */
  readonly #groups = new Set<{ readonly after: Sequence }>();
  #highest: Sequence = 0;
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
    this.#isUncertain = false;
    this.#highest = 0;
  }

  /**
   * This sequence was given. What begins to be recorded from now on has higher ones, so that a process that records little is not
   * taken to own something of all that others record.
   */
  know(last: Sequence): void {
    this.#highest = Math.max(this.#highest, last);
  }

  /**
   * Up to which sequence all that this process owns has ended. What is being recorded has higher sequences than those that
   * were known as that began.
   */
  get endedUpTo(): Sequence {
    if (this.#isUncertain) return 0;
    let lowest = this.#highest;
    for (const sequence of this.#sequences) lowest = Math.min(lowest, sequence - 1);
    for (const { after } of this.#groups) lowest = Math.min(lowest, after);
    return lowest;
  }

  /** Records a group, and keeps in mind which of it this process owns. */
  async recording(record: () => Promise<readonly Recorded[]>): Promise<readonly Recorded[]> {
    const group = { after: this.#highest };
    this.#groups.add(group);
    try {
      const recorded = await record();
      for (const { sequence, isClaimed } of recorded) {
        if (sequence === undefined) continue;
        this.#highest = Math.max(this.#highest, sequence);
        if (isClaimed) this.#sequences.add(sequence);
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

  /**
   * Gives back what this process owns and doesn't know of: its sender was told that it was not recorded, and sends it again,
   * but the copy is a duplicate. Called while nothing is being recorded.
   */
  async recover(): Promise<void> {
    const recoveries = await this.#session.write(async (transaction) => {
      const { id } = this.#processes;
      // Waits for a statement whose connection was lost and that still goes on. One that comes later claims nothing.
      await transaction.query("select pg_advisory_xact_lock(hashtextextended('ringback.recordings', $1))", [
        id,
      ]);
      const [row] = await transaction.query<{ recoveries: number }>(
        'update ringback.processes set recoveries = recoveries + 1 where id = $1 returning recoveries',
        [id],
      );
      await transaction.query(
        `with unknown as materialized (
           select sequence, call_id from ringback.owned where process = $1 and sequence <> all ($2::bigint[])
         ), ended as (
           insert into ringback.ended (process, first, last) select $1, sequence, sequence from unknown
         )
         insert into ringback.waiting (sequence, call_id) select sequence, call_id from unknown`,
        [id, [...this.#sequences]],
      );
      return row?.recoveries;
    });
    this.#processes.recoveries = recoveries ?? 0;
    this.#isUncertain = false;
  }
}
