/** Counts over time, up to the last minute that is over. */
import { useRef } from 'preact/hooks';
import { withQuery } from './client.ts';
import { presentTime } from './present.ts';
import type { HandlerHistory, History } from './shapes.ts';
import { usePresent } from './use-present.ts';
import { type Resource, isPassing, useResource } from './use-resource.ts';

export const minute = 60_000;
/**
 * How long after its end a minute counts as over, in milliseconds. Processes write the counts of a minute when it ends:
 * before that, it looks as if nothing had happened in it.
 */
const writtenWithin = 5_000;

/** A stretch of time up to now, in steps; lengths are in milliseconds. */
export interface Stretch {
  readonly length: number;
  readonly step: number;
  readonly resolution: 'minute' | 'hour';
}

/** The counts of a stretch, a point for each step in which something was counted, and when it begins and ends. */
export interface Counted<Found extends HandlerHistory = History> {
  readonly since: number;
  readonly until: number;
  readonly points: Found['points'];
}

/**
 * The counts of a stretch that ends with the last minute, or the last hour, that is over; by their address in the API,
 * which must stay the same.
 */
export function useHistory<Found extends HandlerHistory = History>(
  { length, step, resolution }: Stretch,
  address = '/history',
): Resource<Counted<Found>> {
  const minuteEnd = usePresent(lastMinuteEnd);
  const until = resolution === 'minute' ? minuteEnd : minuteEnd - (minuteEnd % (60 * minute));
  const since = until - length;
  const path = withQuery(address, {
    resolution,
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    step: `${step}ms`,
  });
  const { data, ...resource } = useResource<Found>(path, ['history']);
  // Each minute changes the request: until its answer arrives, the counts of the minute before stay.
  const kept = useRef<Counted<Found> | undefined>(undefined);
  if (data) kept.current = { since, until, points: data.points };
  else if (kept.current && kept.current.until - kept.current.since !== length) kept.current = undefined;
  else if (resource.refusal && !isPassing(resource.refusal)) kept.current = undefined;
  return { ...resource, data: kept.current };
}

/** When the last minute that is over has ended. */
function lastMinuteEnd(): number {
  return Math.floor((presentTime() - writtenWithin) / minute) * minute;
}
