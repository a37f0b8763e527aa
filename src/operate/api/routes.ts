/** What the API offers: each route with what it takes, what it answers, and which action it is. */
import { z } from 'zod';
import type { Calls } from '../calls.ts';
import type { DriftLedger } from '../drift.ts';
import type { Erased } from '../erasure.ts';
import type { ErasureTarget } from '../erasure-target.ts';
import type { InboxEvents } from '../events.ts';
import type { Quarantine } from '../quarantine.ts';
import type { StoreCounts } from '../../store/store.ts';
import type { Action } from './access.ts';
import type { ResultName } from './results.ts';

/** The operations of a receiver. */
export interface Operations {
  readonly events: InboxEvents;
  readonly calls: Calls;
  readonly quarantine: Quarantine;
  readonly drift: DriftLedger;
  readonly erase: (target: ErasureTarget) => Promise<Erased>;
  readonly counts: () => Promise<StoreCounts>;
}

/** What a route is called with. */
export interface Asked {
  /** The text at the place of `{…}` in its path. */
  readonly id: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
  readonly by: string | undefined;
}

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** At most one segment is `{…}`: the id of what is meant. */
  readonly path: string;
  readonly action: Action;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  readonly result: ResultName;
  /** Resolves to undefined when there is no such thing. */
  readonly act: (operations: Operations, asked: Asked) => Promise<unknown>;
}

const text = z.string().min(1).optional();
const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const moment = text.describe('ISO 8601.');
const page = {
  limit: z.coerce.number().int().min(1).max(1_000).optional().describe('How many, by default 100.'),
  cursor: text.describe('The `cursor` of the page before.'),
};
const filter = {
  eventName: text,
  callId: text,
  agentId: text,
  state: z.enum(['new', 'open', 'done', 'dead']).optional(),
  handler: text,
  traceId: text,
  since: moment.describe('Arrived then or later. ISO 8601.'),
  until: moment.describe('Arrived before then. ISO 8601.'),
};
const withBody = z.strictObject({
  body: flag.optional().describe('Whether body and headers are answered, too.'),
});
const change = { dryRun: z.boolean().optional().describe('Changes nothing, and answers what would be.') };

/** Leaves the body and the headers out unless they were asked for. */
function shown(
  whole: { readonly body: unknown; readonly headers: unknown } | undefined,
  { query }: Asked,
): unknown {
  if (whole === undefined || query['body'] === true) return whole;
  const { body: _body, headers: _headers, ...rest } = whole;
  return rest;
}

/** In the order of the document. */
export const routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/counts',
    action: 'look',
    summary: 'How many events, runs and quarantined deliveries there are, by state',
    result: 'Counts',
    act: ({ counts }) => counts(),
  },
  {
    method: 'GET',
    path: '/events',
    action: 'look',
    summary: 'Events, the latest first',
    query: z.strictObject({ ...filter, ...page }),
    result: 'Events',
    act: ({ events }, { query }) => events.list(query),
  },
  {
    method: 'GET',
    path: '/events/{traceId}',
    action: 'look',
    summary: 'An event with its stored runs',
    query: withBody,
    result: 'Event',
    act: async ({ events }, asked) => shown(await events.get(asked.id), asked),
  },
  {
    method: 'POST',
    path: '/events/replay',
    action: 'replay',
    summary: 'Runs events again',
    body: z.strictObject({
      filter: z.strictObject(filter),
      ...change,
      only: text.describe('Only this handler, also for events that it has never seen.'),
      rate: z.number().gt(0).optional().describe('How many runs become due a second.'),
      reason: text,
    }),
    result: 'Replayed',
    act: ({ events }, { body: { filter: which, ...options }, by }) =>
      events.replay(which as Parameters<InboxEvents['replay']>[0], { ...options, by }),
  },
  {
    method: 'POST',
    path: '/events/dismiss',
    action: 'dismiss',
    summary: 'Marks runs done that are not to be run',
    body: z.strictObject({
      filter: z.strictObject(filter),
      ...change,
      only: text.describe('Only runs of this handler.'),
      reason: z.string().min(1),
    }),
    result: 'Dismissed',
    act: ({ events }, { body: { filter: which, ...options }, by }) =>
      events.dismiss(which as Parameters<InboxEvents['dismiss']>[0], {
        ...(options as { reason: string }),
        by,
      }),
  },
  {
    method: 'GET',
    path: '/calls',
    action: 'look',
    summary: 'Calls, the most recently first-seen first',
    query: z.strictObject({
      agentId: text,
      status: z.enum(['in_progress', 'ended', 'transferred', 'analysed']).optional(),
      since: moment,
      until: moment,
      ...page,
    }),
    result: 'Calls',
    act: ({ calls }, { query }) => calls.list(query),
  },
  {
    method: 'GET',
    path: '/calls/{callId}',
    action: 'look',
    summary: 'The record of a call',
    result: 'Call',
    act: ({ calls }, { id }) => calls.get(id),
  },
  {
    method: 'GET',
    path: '/quarantine',
    action: 'look',
    summary: 'Deliveries in quarantine, the latest first',
    query: z.strictObject({
      kind: z.enum(['not_authentic', 'unreadable']).optional(),
      reason: text,
      traceId: text.describe('The trace id in the header, or a part of it.'),
      since: moment,
      until: moment,
      ...page,
    }),
    result: 'Deliveries',
    act: ({ quarantine }, { query }) => quarantine.list(query),
  },
  {
    method: 'GET',
    path: '/quarantine/{id}',
    action: 'look',
    summary: 'A delivery in quarantine',
    query: withBody,
    result: 'Delivery',
    act: async ({ quarantine }, asked) => {
      const whole = await quarantine.get(Number(asked.id));
      return shown(whole && { ...whole, body: Buffer.from(whole.body).toString('base64') }, asked);
    },
  },
  {
    method: 'POST',
    path: '/quarantine/{id}/release',
    action: 'quarantine',
    summary: 'Checks a delivery again, and makes it an event',
    result: 'Released',
    act: ({ quarantine }, { id }) => quarantine.release(Number(id)),
  },
  {
    method: 'DELETE',
    path: '/quarantine/{id}',
    action: 'quarantine',
    summary: 'Removes a delivery for good',
    result: 'Discarded',
    act: async ({ quarantine }, { id }) => ({ discarded: await quarantine.discard(Number(id)) }),
  },
  {
    method: 'POST',
    path: '/quarantine/reverify',
    action: 'quarantine',
    summary: 'Checks all deliveries again that were not authentic, and releases those that verify',
    result: 'Reverified',
    act: ({ quarantine }) => quarantine.reverify(),
  },
  {
    method: 'GET',
    path: '/drift',
    action: 'look',
    summary: 'How what the platform sends differs from what is documented',
    result: 'Drift',
    act: async ({ drift }) => ({ findings: await drift.list() }),
  },
  {
    method: 'POST',
    path: '/erase',
    action: 'erase',
    summary: 'Erases a call, or everything that names a phone number',
    body: z.strictObject({
      callId: text,
      phoneNumber: text,
      compact: z.boolean().optional().describe('Whether the database is rewritten.'),
      ...change,
    }),
    result: 'Erased',
    act: ({ erase }, { body }) => erase(body as ErasureTarget),
  },
];
