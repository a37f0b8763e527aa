import type Database from 'better-sqlite3';
import { type Clock, distanceOf } from '../../../kit/clock.ts';

/** How far wall clock and measuring clock may diverge, in milliseconds, before the wall clock counts as set. */
const tolerance = 1_000;

/** The offset that a process proposes for the settings, and how much of it the process has seen itself. */
interface Proposal {
  readonly offset: number;
  readonly own: number;
}

/**
 * The times when runs are due, protected from a wall clock that jumps: when a machine's clock is set by an hour, it
 * must neither begin an hour's retries at once nor wait an hour longer for them.
 *
 * A due time is stored as the wall clock would show it if it had never been set. How far it has been set is one
 * number in the settings, upon which all processes that share the file agree. It is zero until a clock is set, so the
 * stored times are usually those of the wall clock. When a clock is set no row changes, however many runs wait.
 */
export class DueTime {
  readonly #clock: Clock;
  readonly #select: Database.Statement;
  readonly #write: Database.Statement;
  /** The offset that this process and the settings last agreed upon. */
  #agreed: number;
  /** Jumps that this process has seen since, and that the others may not know of. */
  #own = 0;
  /** How far the two clocks were apart when last compared. */
  #distance: number;

  constructor(database: Database.Database, clock: Clock) {
    this.#clock = clock;
    this.#select = database.prepare('select value from settings where name = ?').pluck();
    this.#write = database.prepare(
      'insert into settings values (?, ?) on conflict do update set value = excluded.value',
    );
    this.#agreed = this.#stored();
    this.#distance = distanceOf(this.#clock);
  }

  /** The wall clock, in milliseconds since 1970. */
  now(): number {
    return this.#clock.now();
  }

  /** What is stored for a time on the wall clock; zero is "at once" in both. */
  store(wall: number): number {
    return wall === 0 ? 0 : wall - this.#offset();
  }

  /** What is stored for a time that is so many milliseconds from now. */
  after(ms: number): number {
    return this.store(this.now() + ms);
  }

  /** The time on the wall clock for what is stored. */
  read(stored: number): number {
    return stored === 0 ? 0 : stored + this.#offset();
  }

  /** Whether this process and the settings disagree about the offset. */
  isDisputed(): boolean {
    this.#offset();
    return this.#own !== 0 || this.#stored() !== this.#agreed;
  }

  /**
   * Finds the offset upon which this process and the settings can agree, and writes it; to be accepted once it is on
   * disk.
   */
  propose(): Proposal {
    // Read before the clocks are compared: a jump that another process has written down is then seen by this one too.
    const byOthers = this.#stored() - this.#agreed;
    this.#offset();
    const own = this.#own;
    // A jump that two processes have seen counts once, and a process that began after it has not seen it. If both
    // have seen jumps, and these differ, there was another one after the other process looked.
    const isKnown = own === 0 || (byOthers !== 0 && Math.abs(own - byOthers) <= tolerance);
    const offset = this.#agreed + (isKnown ? byOthers : own);
    if (!isKnown) this.#write.run('clock_offset', String(offset));
    return { offset, own };
  }

  /** Adopts the proposal, once it is written. */
  accept({ offset, own }: Proposal): void {
    this.#offset();
    this.#agreed = offset;
    this.#own -= own;
    // A difference that was just too small for a jump here, but was a jump to another process, must not count again
    // later.
    this.#distance = distanceOf(this.#clock);
  }

  /** Records the current time, for the next process that opens the file. */
  note(): void {
    this.#write.run('clock_seen', String(this.#undisturbed()));
  }

  /**
   * Lets time continue from what the last process recorded, if the wall clock is behind that: a machine without a
   * battery begins in 1970 at each boot. Only for a process that is alone with the file, because the offset is
   * otherwise agreed upon with the others.
   */
  catchUp(): void {
    const seen = this.#select.get('clock_seen') as string | undefined;
    if (seen === undefined || this.#undisturbed() >= Number(seen) - tolerance) return;
    this.#agreed = Math.round(this.now() - Number(seen));
    this.#own = 0;
    this.#write.run('clock_offset', String(this.#agreed));
  }

  /** What the wall clock would show had it never been set. */
  #undisturbed(): number {
    return this.now() - this.#offset();
  }

  /** Compares both clocks, and counts a change of their distance as a jump of the wall clock. */
  #offset(): number {
    const jump = distanceOf(this.#clock) - this.#distance;
    if (Math.abs(jump) > tolerance) {
      this.#own += Math.round(jump);
      this.#distance += jump;
    }
    return this.#agreed + this.#own;
  }

  #stored(): number {
    return Number(this.#select.get('clock_offset') ?? 0);
  }
}
