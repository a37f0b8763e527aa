import type Database from 'better-sqlite3';
import { type Clock, distanceOf } from '../../kit/clock.ts';

/** How far wall clock and measuring clock may part, in milliseconds, before the wall clock counts as set. */
const tolerance = 1_000;

/** What a process would have the settings say, and how much of it it has seen itself. */
interface Proposal {
  readonly offset: number;
  readonly own: number;
}

/**
 * When runs are due, kept apart from a wall clock that jumps: a machine whose clock is set by an hour must
 * neither begin an hour's retries at once nor wait an hour for them.
 *
 * A due time is stored as the wall clock would show it had it never been set. How far it has been set is one
 * number in the settings, which all processes that share the file agree upon: zero until a clock is set, so
 * ordinarily the stored times are those of the wall clock. No row changes when a clock is set, however many wait.
 */
export class DueTime {
  readonly #clock: Clock;
  readonly #select: Database.Statement;
  readonly #write: Database.Statement;
  /** What the settings said when last asked. */
  #agreed: number;
  /** What this process has seen since, and the others may not know. */
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

  /** Whether this process and the settings say different things. */
  isDisputed(): boolean {
    this.#offset();
    return this.#own !== 0 || this.#stored() !== this.#agreed;
  }

  /** Finds what both can agree upon and writes it down; to be accepted once it is on disk. */
  propose(): Proposal {
    // Asked before the clocks are compared: whatever another process has seen, this one sees now.
    const byOthers = this.#stored() - this.#agreed;
    this.#offset();
    const own = this.#own;
    // The same jump, seen by two, counts once, and a process that began after it has seen none. Where both have
    // seen something and it differs, there was another jump since the other one looked.
    const isKnown = own === 0 || (byOthers !== 0 && Math.abs(own - byOthers) <= tolerance);
    const offset = this.#agreed + (isKnown ? byOthers : own);
    if (!isKnown) this.#write.run('clock_offset', String(offset));
    return { offset, own };
  }

  /** Takes over what was written. */
  accept({ offset, own }: Proposal): void {
    this.#offset();
    this.#agreed = offset;
    this.#own -= own;
    // What was just short of a jump here, and a jump to another process, must not count a second time later.
    this.#distance = distanceOf(this.#clock);
  }

  /** Writes down what time it is, for whoever opens the file next. */
  note(): void {
    this.#write.run('clock_seen', String(this.#undisturbed()));
  }

  /**
   * Lets time go on where the last process left it, when the wall clock has gone back behind that: a machine without a battery
   * begins in 1970 at each boot. For who is alone with the file: what the others have agreed upon is not to be touched.
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

  /** Looks at both clocks, and takes a difference between them as a jump of the one that may. */
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
