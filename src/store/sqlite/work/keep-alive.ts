import type { Clock } from '../../../kit/clock.ts';
import type { OpenInbox } from '../connection/open-inbox.ts';
import type { Session } from '../connection/session.ts';

/** How long a write may wait before what was read ahead of it no longer counts, in milliseconds. */
const trustedWait = 1_000;

/** Heartbeats for this process, and takes over the claims of dead ones; resolves to how many those were. */
export async function keepAlive(session: Session, clock: Clock): Promise<number> {
  const { processes, claims, dueTime } = session.opened();
  if (dueTime.isDisputed()) dueTime.accept(await session.write(() => dueTime.propose()));
  const dead = processes.dead();
  // A process writes nothing if it has no claims, found none dead and is watched by none: an idle receiver leaves
  // the disk alone.
  const isNothingToSay = dead.length === 0 && !processes.isWatched() && !claims.hasAny();
  if (isNothingToSay) return 0;
  const askedAt = clock.elapsed();
  const takenOver = await session
    .write((parts) => (clock.elapsed() - askedAt > trustedWait ? undefined : takeOver(parts, dead)))
    .catch((error: unknown) => {
      processes.forgiveMissedHeartbeats();
      throw error;
    });
  // While the database was locked no process could beat, so their missedHeartbeats are counted anew.
  if (takenOver === undefined) processes.forgiveMissedHeartbeats();
  return takenOver ?? 0;
}

/**
 * Heartbeats for this process, and takes over what is held by processes that the kernel says are dead, and by those that
 * have been silent for too long.
 */
function takeOver({ processes, claims, dueTime }: OpenInbox, dead: readonly number[]): number {
  processes.beat();
  dueTime.note();
  let takenOver = 0;
  for (const id of [...dead, ...processes.lookAtSilent()]) {
    takenOver += claims.releaseAll(id, { died: true });
    processes.remove(id);
  }
  return takenOver;
}
