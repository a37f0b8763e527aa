import { holdProcess, pause, systemClock } from '../../kit/clock.ts';
import type { EventStore, ReplayedRuns } from '../../store/event-store.ts';

/** How long to wait between two looks at the runs, in milliseconds. */
const lookPause = 500;

/** Waits until every run that the replay has requeued is done or dead, or the signal comes. */
export async function untilSettled(
  store: EventStore,
  replay: number,
  signal: Promise<unknown>,
): Promise<void> {
  const stopped = signal.then(() => 'stopped');
  const pausing = () => Promise.race([stopped, pause(systemClock, lookPause)]);
  const letGo = holdProcess();
  while ((await store.replayed(replay)).open > 0 && (await pausing()) !== 'stopped');
  letGo();
}

/** Says how many of the runs that were requeued are done, dead or waiting, and what will run the rest. */
export function describeRuns({ done, dead, open }: ReplayedRuns): string {
  const counts = `runs requeued: ${done} done, ${dead} dead, ${open} still waiting`;
  return open === 0 ? counts : `${counts}. A receiver on this database runs those that wait`;
}
