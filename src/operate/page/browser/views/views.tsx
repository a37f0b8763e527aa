import type { ComponentChild } from 'preact';
import type { Route } from '../router.ts';
import { AuditView } from './audit.tsx';
import { CallView } from './call/call.tsx';
import { CallsView } from './calls.tsx';
import { DeliveryView } from './delivery.tsx';
import { DriftView } from './drift.tsx';
import { EventView } from './event.tsx';
import { EventsView } from './events.tsx';
import { FailuresView } from './failures.tsx';
import { HandlerView } from './handler.tsx';
import { HandlersView } from './handlers.tsx';
import { OverviewView } from './overview/overview.tsx';
import { QuarantineView } from './quarantine.tsx';
import { ReplayView } from './replay.tsx';

const lists: Readonly<Record<string, (route: Route) => ComponentChild>> = {
  events: (route) => <EventsView {...route} />,
  calls: (route) => <CallsView {...route} />,
  failures: (route) => <FailuresView {...route} />,
  replay: (route) => <ReplayView {...route} />,
  quarantine: (route) => <QuarantineView {...route} />,
  handlers: () => <HandlersView />,
  drift: () => <DriftView />,
  audit: (route) => <AuditView {...route} />,
};

/** The key makes a new view for each id, so that an opened body isn't shown for the next. */
const ones: Readonly<Record<string, (id: string, query: Route['query']) => ComponentChild>> = {
  events: (id) => <EventView key={id} traceId={id} />,
  calls: (id) => <CallView key={id} callId={id} />,
  quarantine: (id) => <DeliveryView key={id} id={id} />,
  handlers: (id, { range }) => <HandlerView key={id} name={id} range={range} />,
};

export function viewAt(route: Route): ComponentChild {
  const [view, id] = route.path;
  if (view === undefined) return <OverviewView {...route} />;
  if (id !== undefined) return Object.hasOwn(ones, view) ? ones[view]?.(id, route.query) : undefined;
  return Object.hasOwn(lists, view) ? lists[view]?.(route) : undefined;
}
