import { useEffect, useMemo, useState } from 'preact/hooks';
import { get, pathOf, withQuery } from './client.ts';
import type { Event, Events } from './shapes.ts';
import { type Resource, useResource } from './use-resource.ts';

/** How many events of a call are listed: the latest. */
export const maxListed = 200;
/** For how many events of a call the failed attempts are loaded: the drawing isn't worth more requests. */
const maxAsked = 20;

export interface EventsOfCall {
  readonly events: readonly Event[];
  /** Whether there are older events. Only those with dead letters are listed, because somebody must act on them. */
  readonly isCut: boolean;
}

/** The events of a call with their runs. The failed attempts of some are added as they arrive. */
export function useEventsOfCall(callId: string): Resource<EventsOfCall> {
  const latest = useEvents({ callId });
  const isCut = latest.data?.cursor !== undefined;
  const dead = useEvents(isCut ? { callId, state: 'dead' } : undefined);
  const listed = useMemo(() => {
    const known = latest.data?.events ?? [];
    const traceIds = new Set(known.map(({ traceId }) => traceId));
    return [...known, ...(dead.data?.events ?? []).filter(({ traceId }) => !traceIds.has(traceId))];
  }, [latest.data, dead.data]);
  const [whole, setWhole] = useState<ReadonlyMap<string, Event>>(new Map());

  useEffect(() => {
    const abort = new AbortController();
    const failed = listed.filter(({ runs }) => runs.some(({ attempts }) => attempts > 0));
    const asked = failed
      .slice(0, maxAsked)
      .map(({ traceId }) => get<Event>(`/events${pathOf(traceId)}`, abort.signal));
    void Promise.allSettled(asked).then((settled) => {
      if (abort.signal.aborted) return undefined;
      const found = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
      return setWhole(new Map(found.map((event) => [event.traceId, event])));
    });
    return () => abort.abort();
  }, [listed]);

  const events = listed.map((event) => withFailures(event, whole.get(event.traceId)));
  const { refusal, reload } = dead.refusal ? dead : latest;
  return { data: latest.data && { events, isCut }, refusal, reload };
}

/** An event of the list with its failed attempts: all else of the whole event may be older than the list. */
function withFailures(event: Event, whole: Event | undefined): Event {
  const found = new Map(whole?.runs.map(({ handler, failures = [] }) => [handler, failures]));
  return {
    ...event,
    runs: event.runs.map((run) => ({ ...run, failures: found.get(run.handler) ?? [] })),
  };
}

function useEvents(filter: Readonly<Record<string, string>> | undefined): Resource<Events> {
  const path = filter && withQuery('/events', { ...filter, limit: maxListed });
  return useResource<Events>(path, ['events', 'failures']);
}
