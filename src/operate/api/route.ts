/** What a route of the API takes, returns and needs. */
import type { z } from 'zod';
import type { Clock } from '../../kit/clock.ts';
import type { Store } from '../../store/store.ts';
import type { Alerts } from '../alerts/alerts.ts';
import type { Audit } from '../audit.ts';
import type { Calls } from '../calls.ts';
import type { DriftLedger } from '../drift.ts';
import type { Erasure } from '../erasure/erasure.ts';
import type { InboxEvents } from '../events.ts';
import type { Failures } from '../failures.ts';
import type { InboxHandlers } from '../handlers.ts';
import type { History } from '../history.ts';
import type { Quarantine } from '../quarantine/quarantine.ts';
import type { Action } from './access.ts';
import type { ResultName } from './results.ts';

/** The parts of a receiver that routes use. */
export interface Operations {
  readonly events: InboxEvents;
  readonly calls: Calls;
  readonly failures: Failures;
  readonly history: History;
  readonly alerts: Alerts;
  readonly handlers: InboxHandlers;
  readonly audit: Audit;
  readonly quarantine: Quarantine;
  readonly drift: DriftLedger;
  readonly erasure: Erasure;
  readonly gated: Pick<Store, 'counts'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** The arguments of a route. */
export interface Asked {
  /** The segment in place of `{…}` in the path. */
  readonly id: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly by: string | undefined;
  /** What the request may do. */
  readonly actions: readonly Action[];
  /** Aborted when the client has left. */
  readonly signal: AbortSignal;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** At most one segment is `{…}`, an id. */
  readonly path: string;
  /**
   * The action that it needs; of several, one, and `act` checks which. Left out if everybody whom `authorize` lets in may
   * use it.
   */
  readonly action?: Action | readonly Action[];
  readonly summary: string;
  /**
   * `search` if it may go through the whole inbox, `longRead` if it may read much in one go: of each, few are worked on
   * at the same time, and a long read waits for no search.
   */
  readonly bound?: 'search' | 'longRead';
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly result: ResultName;
  /** Resolves to undefined if nothing has the id, which answers 404. */
  readonly act: (operations: Operations, asked: Asked) => Promise<unknown>;
}

/** The actions one of which a route needs; none if it needs no action. */
export function actionsOf({ action = [] }: Pick<Route, 'action'>): readonly Action[] {
  return typeof action === 'string' ? [action] : action;
}
