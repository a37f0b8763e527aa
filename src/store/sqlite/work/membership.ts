import type { FileMarks } from '../connection/database-files.ts';
import type { prepareClaims } from './claim.ts';
import type { SeenJumps, prepareDueTimes } from './clock-jumps.ts';
import type { prepareNotedWal } from './noted-wal.ts';
import type { Processes } from './processes.ts';

interface MembershipParts {
  readonly processes: Processes;
  readonly notedWal: Pick<ReturnType<typeof prepareNotedWal>, 'note' | 'leave'>;
  readonly claims: Pick<ReturnType<typeof prepareClaims>, 'releaseAll'>;
  readonly dueTimes: ReturnType<typeof prepareDueTimes>;
}

/** This process among those that share the file. All functions run inside the caller's transaction. */
export function prepareMembership({ processes, notedWal, claims, dueTimes }: MembershipParts) {
  let hasLeft = false;
  return {
    /**
     * Enters this process among those that share the file, and gives back what it held under `former`, its id so far,
     * or 0. That is an argument because `processes.id` may be of an `enter` that was rolled back. Returns the new id.
     *
     * @param wal The WAL to note, if any
     */
    enter(now: number, former: number, wal: FileMarks | undefined): number {
      if (former === 0 && !processes.hasOthers()) dueTimes.catchUp(now);
      claims.releaseAll(former, { died: false });
      const id = processes.enter(now, former);
      processes.remove(former);
      if (wal) notedWal.note(wal);
      dueTimes.note(now);
      return id;
    },

    /** Gives back what this process holds, and removes the process. */
    leave(now: number, jumps: SeenJumps): void {
      hasLeft = true;
      dueTimes.correct(jumps);
      dueTimes.note(now);
      claims.releaseAll(processes.id, { died: false });
      notedWal.leave();
      processes.remove(processes.id);
    },

    /** Returns the id of this process, which may have to enter again, but not once it has left. */
    heartbeat(now: number, wal: FileMarks | undefined): number {
      if (hasLeft) return processes.id;
      processes.heartbeat();
      if (wal) notedWal.note(wal);
      dueTimes.note(now);
      return processes.id;
    },

    /** Takes over what dead processes held. Returns the number of claims. */
    takeOver(dead: readonly number[]): number {
      let takenOver = 0;
      for (const id of dead) {
        takenOver += claims.releaseAll(id, { died: true });
        processes.remove(id);
      }
      return takenOver;
    },
  };
}
