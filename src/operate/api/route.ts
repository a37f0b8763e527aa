/** What a route of the API is: what it takes, what it answers, and which action it is. */
import type { z } from 'zod';
import type { StoreCounts } from '../../store/store.ts';
import type { Alerts } from '../alerts/alerts.ts';
import type { Audit } from '../audit.ts';
import type { Calls } from '../calls.ts';
import type { DriftLedger } from '../drift.ts';
import type { Erased } from '../erasure.ts';
import type { ErasureTarget } from '../erasure-target.ts';
import type { InboxEvents } from '../events.ts';
import type { Failures } from '../failures.ts';
import type { InboxHandlers } from '../handlers.ts';
import type { History } from '../history.ts';
import type { Quarantine } from '../quarantine.ts';
import type { Action } from './access.ts';
import type { ResultName } from './results.ts';

/** The operations of a receiver, which is what they are given as. */
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
  erase(target: ErasureTarget): Promise<Erased>;
  counts(): Promise<StoreCounts>;
}

/** What a route is called with. */
export interface Asked {
  /** The text at the place of `{…}` in its path. */
  readonly id: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly by: string | undefined;
  /** What whoever asks may do. */
  readonly actions: readonly Action[];
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** At most one segment is `{…}`: the id of what is meant. */
  readonly path: string;
  /** Left out if whoever is let in may do it. */
  readonly action?: Action;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly result: ResultName;
  /** Resolves to undefined when there is no such thing. */
  readonly act: (operations: Operations, asked: Asked) => Promise<unknown>;
}
