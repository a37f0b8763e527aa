import type { ComponentChild } from 'preact';
import type { Place } from '../router.ts';
import { AuditView } from './audit.tsx';
import { CallView } from './call.tsx';
import { CallsView } from './calls.tsx';
import { DeliveryView } from './delivery.tsx';
import { DriftView } from './drift.tsx';
import { EventView } from './event.tsx';
import { EventsView } from './events.tsx';
import { FailuresView } from './failures.tsx';
import { HandlersView } from './handlers.tsx';
import { OverviewView } from './overview.tsx';
import { QuarantineView } from './quarantine.tsx';
import { ReplayView } from './replay.tsx';

const lists: Readonly<Record<string, (place: Place) => ComponentChild>> = {
  events: (place) => <EventsView {...place} />,
  calls: (place) => <CallsView {...place} />,
  failures: (place) => <FailuresView {...place} />,
  // Another address is a new replay: the key resets the form and its preview.
  replay: (place) => <ReplayView key={JSON.stringify(place.query)} {...place} />,
  quarantine: (place) => <QuarantineView {...place} />,
  handlers: () => <HandlersView />,
  drift: () => <DriftView />,
  audit: (place) => <AuditView {...place} />,
};

/** The key makes a new view for each id, so that an opened body isn't shown for the next. */
const ones: Readonly<Record<string, (id: string) => ComponentChild>> = {
  events: (id) => <EventView key={id} traceId={id} />,
  calls: (id) => <CallView key={id} callId={id} />,
  quarantine: (id) => <DeliveryView key={id} id={id} />,
};

export function viewAt(place: Place): ComponentChild {
  const [view, id] = place.path;
  if (view === undefined) return <OverviewView {...place} />;
  if (id !== undefined) return Object.hasOwn(ones, view) ? ones[view]?.(id) : undefined;
  return Object.hasOwn(lists, view) ? lists[view]?.(place) : undefined;
}
