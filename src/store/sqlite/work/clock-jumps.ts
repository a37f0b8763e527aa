import type Database from 'better-sqlite3';
import { type Clock, distanceOf } from '../../../kit/clock.ts';

/** How far the wall clock and the monotonic clock may diverge, in milliseconds, before the wall clock counts as set. */
const tolerance = 1_000;

/** The sums of the jumps of the wall clock that a process knows of, in milliseconds. */
export interface SeenJumps {
  /** Jumps that the inbox had been corrected for when this process last asked. */
  readonly agreed: number;
  /** Jumps that this process has seen since. */
  readonly own: number;
}

/** The due times of the inbox: see `prepareDueTimes`. */
interface DueTimes {
  corrected(): number;
  /** Queues the correction before it returns. `onWritten` gets its result before any later write is answered. */
  correct(seen: SeenJumps, onWritten: (agreed: number) => void): Promise<unknown>;
}

/**
 * Detects that the wall clock was set, by comparing it with the monotonic clock. Due times are wall times: when a
 * machine's clock is set by an hour, the inbox must neither begin an hour's retries at once nor delay them by an hour,
 * so all due times are moved once.
 */
export class ClockJumps {
  readonly #clock: Clock;
  readonly #dueTimes: DueTimes;
  #agreed = 0;
  #own = 0;
  /** The distance between the two clocks when last compared; undefined before `begin`. */
  #distance: number | undefined;
  #correction: Promise<unknown> | undefined;

  constructor(clock: Clock, dueTimes: DueTimes) {
    this.#clock = clock;
    this.#dueTimes = dueTimes;
  }

  /** Call when the process has entered, which may correct due times, too. Until then, no jumps are seen. */
  begin(): void {
    this.#agreed = this.#dueTimes.corrected();
    this.#distance = distanceOf(this.#clock);
  }

  /** The jumps so far; the inbox may not be corrected for `own` yet. */
  look(): SeenJumps {
    if (this.#distance !== undefined) {
      const jump = distanceOf(this.#clock) - this.#distance;
      if (Math.abs(jump) > tolerance) {
        this.#own += Math.round(jump);
        this.#distance += jump;
      }
    }
    return { agreed: this.#agreed, own: this.#own };
  }

  /**
   * Corrects all due times if the wall clock has been set. Writes requested after this call find them corrected; reads
   * do once the promise has resolved.
   */
  async correct(): Promise<void> {
    const seen = this.look();
    if (seen.own !== 0) {
      const onWritten = (agreed: number) => this.#corrected(seen, agreed);
      this.#correction ??= this.#dueTimes.correct(seen, onWritten).finally(() => {
        this.#correction = undefined;
      });
    }
    await this.#correction;
  }

  /** Corrects due times for the next writes, without waiting. If that fails, it is tried again later. */
  requestCorrection(): void {
    this.correct().catch(() => {});
  }

  /** Corrects due times, and takes note of jumps that only another process has seen and corrected. */
  async agree(): Promise<void> {
    const corrected = this.#dueTimes.corrected();
    const seen = this.look();
    if (seen.own === 0 && seen.agreed !== corrected) this.#corrected(seen, corrected);
    await this.correct();
  }

  /** The inbox has been corrected for the jumps that `look` returned, and for `agreed` in all. */
  #corrected({ own }: SeenJumps, agreed: number): void {
    this.look();
    this.#agreed = agreed;
    this.#own -= own;
    // A difference just below the tolerance here may have been a jump to another process: it must not count again
    // later.
    this.#distance = distanceOf(this.#clock);
  }
}

/** Corrects due times when the wall clock is set. All functions but `corrected` run inside the caller's transaction. */
export function prepareDueTimes(database: Database.Database) {
  const select = database.prepare('select value from settings where name = ?').pluck();
  const write = database.prepare(
    'insert into settings values (?, ?) on conflict do update set value = excluded.value',
  );
  // Claimed runs too: when they are given back, they keep their due time.
  const moveAll = [
    ['due', "state = 'due'"],
    ['blocked', "state = 'blocked'"],
    ['claimed', 'claimed_by is not null'],
  ].map(([index, which]) =>
    database.prepare(
      `update runs indexed by runs_${index} set due_at = max(1, due_at + ?) where ${which} and due_at > 0`,
    ),
  );

  const corrected = (): number => Number(select.get('clock_jumps') ?? 0);
  const move = (by: number): void => {
    if (by === 0) return;
    for (const statement of moveAll) statement.run(by);
    write.run('clock_jumps', String(corrected() + by));
  };

  return {
    /** The sum of the jumps that due times have been corrected for. */
    corrected,

    /** Moves all due times by the jumps that no process has corrected yet. Returns the new sum of corrected jumps. */
    correct({ agreed, own }: SeenJumps): number {
      const byOthers = corrected() - agreed;
      // A jump that two processes have seen counts once. If what both have seen differs, the clock was set again after
      // the other process looked.
      const isKnown = own === 0 || (byOthers !== 0 && Math.abs(own - byOthers) <= tolerance);
      if (!isKnown) move(own - byOthers);
      return corrected();
    },

    /** Records the time, for the next process that opens the file. */
    note: (now: number): void => void write.run('clock_seen', String(now)),

    /**
     * Moves due times back if the wall clock is behind the time that the last process recorded: a machine without a
     * clock battery begins in 1970 at each boot. Only for a process that is alone with the file: others would still be
     * right.
     */
    catchUp(now: number): void {
      const seen = select.get('clock_seen') as string | undefined;
      if (seen !== undefined && now < Number(seen) - tolerance) move(Math.round(now - Number(seen)));
    },
  };
}
