import type Database from 'better-sqlite3';
import { type Clock, distanceOf } from '../../../kit/clock.ts';

/** How far wall clock and measuring clock may diverge, in milliseconds, before the wall clock counts as set. */
const tolerance = 1_000;

/** The jumps of the wall clock that a process knows of, in milliseconds in all. */
export interface SeenJumps {
  /** Those for which the inbox had been corrected when this process last asked. */
  readonly agreed: number;
  /** Those that it has seen itself since. */
  readonly own: number;
}

/**
 * Sees when the wall clock is set, by comparing it with the clock that never jumps. Due times are wall times: when a
 * machine's clock is set by an hour, the inbox must neither begin an hour's retries at once nor wait an hour longer for
 * them, so all due times are then moved once (`prepareDueTimes`).
 */
export class ClockJumps {
  readonly #clock: Clock;
  #agreed: number;
  #own = 0;
  /** How far the two clocks were apart when last compared. */
  #distance: number;

  constructor(clock: Clock, agreed: number) {
    this.#clock = clock;
    this.#agreed = agreed;
    this.#distance = distanceOf(clock);
  }

  /** The jumps that the inbox may not be corrected for yet. */
  look(): SeenJumps {
    const jump = distanceOf(this.#clock) - this.#distance;
    if (Math.abs(jump) > tolerance) {
      this.#own += Math.round(jump);
      this.#distance += jump;
    }
    return { agreed: this.#agreed, own: this.#own };
  }

  /** The inbox has been corrected for the jumps that `look` returned, and for `agreed` in all. */
  corrected({ own }: SeenJumps, agreed: number): void {
    this.look();
    this.#agreed = agreed;
    this.#own -= own;
    // A difference that was just too small for a jump here, but was one to another process, must not count again later.
    this.#distance = distanceOf(this.#clock);
  }
}

/** Keeps due times right when the wall clock is set. All functions but `corrected` run inside a transaction of the caller's. */
export function prepareDueTimes(database: Database.Database) {
  const select = database.prepare('select value from settings where name = ?').pluck();
  const write = database.prepare(
    'insert into settings values (?, ?) on conflict do update set value = excluded.value',
  );
  // Those that are claimed too: given back, they are due again when they were.
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
    /** For how much in all the due times have been corrected. */
    corrected,

    /** Moves all due times by the jumps that no process has corrected them for. Returns for how much they are corrected. */
    correct({ agreed, own }: SeenJumps): number {
      const byOthers = corrected() - agreed;
      // A jump that two processes have seen counts once, and a process that began after it has not seen it. If both have
      // seen jumps, and these differ, there was another one after the other process looked.
      const isKnown = own === 0 || (byOthers !== 0 && Math.abs(own - byOthers) <= tolerance);
      if (!isKnown) move(own - byOthers);
      return corrected();
    },

    /** Records the time, for the next process that opens the file. */
    note: (now: number): void => void write.run('clock_seen', String(now)),

    /**
     * Lets time continue from what the last process recorded, if the wall clock is behind that: a machine without a
     * battery begins in 1970 at each boot. Only for a process that is alone with the file, because the others' clocks
     * are right.
     */
    catchUp(now: number): void {
      const seen = select.get('clock_seen') as string | undefined;
      if (seen !== undefined && now < Number(seen) - tolerance) move(Math.round(now - Number(seen)));
    },
  };
}
