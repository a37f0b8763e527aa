/** The routes of the API. */
import type { Route } from './route.ts';
import { auditRoutes } from './routes/audit.ts';
import { eventsRoutes } from './routes/events.ts';
import { handlersRoutes } from './routes/handlers.ts';
import { inboxRoutes } from './routes/inbox.ts';
import { quarantineRoutes } from './routes/quarantine.ts';

/** In the order of the OpenAPI document. */
export const routes: readonly Route[] = [
  ...inboxRoutes,
  ...eventsRoutes,
  ...handlersRoutes,
  ...quarantineRoutes,
  ...auditRoutes,
];
