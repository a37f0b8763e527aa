import { z } from 'zod';
import type { AuditRow } from '../../store/audit-store.ts';
import type { EventFilter } from '../../store/event-store.ts';
import { dismissOptionsSchema, dismissalWork } from '../dismissal.ts';
import {
  type ReplayParts,
  type ReplayTerms,
  eventFilterSchema,
  replayOptionsSchema,
  replayWork,
} from '../replay.ts';
import { jsonIn } from '../../kit/http-bodies.ts';
import type { Clock } from '../../kit/clock.ts';
import type { BulkWork } from './bulk-work.ts';

/** How a replay or a dismissal is kept in its entry in the audit list. */
const keptSchema = z.object({
  ...eventFilterSchema.shape,
  only: dismissOptionsSchema.shape.only,
  rate: replayOptionsSchema.shape.rate,
});

/** What an entry is to say. */
export function keptTerms(filter: EventFilter, { only, rate }: ReplayTerms): string {
  return JSON.stringify({ ...filter, only, rate });
}

/** What an entry asks for. Undefined if it can't be read, or if this process has not the handlers for it. */
export function keptWork(
  parts: ReplayParts & { readonly clock: Clock },
  { action, what, by, reason }: AuditRow,
): BulkWork | undefined {
  const terms = termsIn(what);
  if (!terms) return undefined;
  const { only, rate, ...filter } = terms;
  if (action === 'dismiss') return dismissalWork(parts, filter, { only, by, reason });
  const known = parts.handlerNames();
  const handler = only ?? filter.handler;
  const canRun = handler === undefined ? known.length > 0 : known.includes(handler);
  return canRun ? replayWork(parts, filter, { only, rate }) : undefined;
}

function termsIn(what: string): (EventFilter & ReplayTerms) | undefined {
  return keptSchema.safeParse(jsonIn(what)).data;
}
