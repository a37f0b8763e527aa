import { holdProcess, pause, systemClock } from '../../kit/clock.ts';
import type { EventStore, ReplayedRuns } from '../../store/event-store.ts';

/** How long after one look the next one comes, in milliseconds. */
const lookPause = 500;

/** Waits until every run that the replay has put back is done or dead, or the signal comes. */
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

/** What has become of them, and who runs the rest. */
export function describeRuns({ done, dead, open }: ReplayedRuns): string {
  const counts = `runs put back: ${done} done, ${dead} dead, ${open} still waiting`;
  return open === 0 ? counts : `${counts}. A receiver on this database runs those that wait`;
}
