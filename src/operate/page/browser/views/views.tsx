/** Which view an address names. */
import type { ComponentChild } from 'preact';
import type { Place } from '../router.ts';
import { EventView } from './event.tsx';
import { EventsView } from './events.tsx';
import { OverviewView } from './overview.tsx';

export function viewAt(place: Place): ComponentChild {
  const [view, id] = place.path;
  if (view === undefined) return <OverviewView {...place} />;
  if (id === undefined) {
    if (view === 'events') return <EventsView {...place} />;
  } else if (view === 'events') return <EventView key={id} traceId={id} />;
  return undefined;
}
