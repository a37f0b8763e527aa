import { z } from 'zod';
import type { AuditRow } from '../../store/audit-store.ts';
import type { EventFilter } from '../../store/event-store.ts';
import { dismissOptionsSchema, dismissalWork } from './dismissal.ts';
import {
  type ReplayParts,
  type ReplayTerms,
  eventFilterSchema,
  replayOptionsSchema,
  replayWork,
} from './replay.ts';
import { jsonIn } from '../../kit/http-bodies.ts';
import type { Clock } from '../../kit/clock.ts';
import type { BulkWork } from './bulk-work.ts';

/** How an audit entry stores the filter and terms of a replay or dismissal. */
const keptSchema = z.object({
  ...eventFilterSchema.shape,
  only: dismissOptionsSchema.shape.only,
  rate: replayOptionsSchema.shape.rate,
});

/** What to store in an entry. */
export function keptTerms(filter: EventFilter, { only, rate }: ReplayTerms): string {
  return JSON.stringify({ ...filter, only, rate });
}

/** The work that an entry describes; undefined if it is unreadable or this process doesn't have the handlers. */
export function keptWork(
  parts: ReplayParts & { readonly clock: Clock },
  { action, what, by, reason }: AuditRow,
): BulkWork | undefined {
  const terms = termsIn(what);
  if (!terms) return undefined;
  const { only, rate, ...filter } = terms;
  const known = parts.handlerNames();
  const handler = only ?? filter.handler;
  if (action === 'dismiss') {
    // A handler may have been registered again meanwhile: its open runs are to be run.
    const mayRun = filter.state !== 'dead' && handler !== undefined && known.includes(handler);
    return mayRun ? undefined : dismissalWork(parts, filter, { only, by, reason });
  }
  const canRun = handler === undefined ? known.length > 0 : known.includes(handler);
  return canRun ? replayWork(parts, filter, { only, rate }) : undefined;
}

function termsIn(what: string): (EventFilter & ReplayTerms) | undefined {
  return keptSchema.safeParse(jsonIn(what)).data;
}
