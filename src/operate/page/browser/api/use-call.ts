import { useEffect, useState } from 'preact/hooks';
import { get, pathOf, withQuery } from './client.ts';
import type { Event, Events } from './shapes.ts';
import { useResource } from './use-resource.ts';

/** How many events of a call are asked for their attempts: more would be more requests than the drawing is worth. */
const mostAsked = 20;

/** The events of a call with their runs; with the failed attempts of those where something failed, as they come. */
export function useEventsOfCall(callId: string): readonly Event[] {
  const { data } = useResource<Events>(withQuery('/events', { callId, limit: 200 }), ['events', 'failures']);
  const [whole, setWhole] = useState<ReadonlyMap<string, Event>>(new Map());

  useEffect(() => {
    const abort = new AbortController();
    const failed = (data?.events ?? []).filter(({ runs }) => runs.some(({ attempts }) => attempts > 0));
    const asked = failed.slice(0, mostAsked).map(async ({ traceId }) => {
      const found = await get<Event>(`/events${pathOf(traceId)}`, { signal: abort.signal });
      return found?.data;
    });
    void Promise.allSettled(asked).then((settled) => {
      if (abort.signal.aborted) return undefined;
      const found = settled.flatMap((one) => (one.status === 'fulfilled' && one.value ? [one.value] : []));
      return setWhole(new Map(found.map((event) => [event.traceId, event])));
    });
    return () => abort.abort();
  }, [data]);

  return (data?.events ?? []).map((event) => whole.get(event.traceId) ?? event);
}
