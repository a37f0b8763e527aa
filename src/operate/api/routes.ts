/** The routes of the API. */
import { z } from 'zod';
import { checked, givenText, listOptions } from '../../errors/option-problems.ts';
import { accountSchema, auditQuerySchema } from '../audit.ts';
import { callQuerySchema } from '../calls.ts';
import { dismissOptionsSchema } from '../bulk/dismissal.ts';
import type { ErasureTarget } from '../erasure/erasure-target.ts';
import type { EventFilter } from '../events.ts';
import { failureQuerySchema } from '../failures.ts';
import { historyQuerySchema } from '../history.ts';
import { quarantineQuerySchema } from '../quarantine/quarantine.ts';
import { eventFilterSchema, replayOptionsSchema } from '../bulk/replay.ts';
import { requireRoom, soon } from './bounds.ts';
import { ApiProblem, forbidden } from './problem.ts';
import type { Route } from './route.ts';
import { base64Of, shown, shownCall } from './shown.ts';

/** An option as text only: the operations take other forms as well. */
const asText = <T extends z.ZodType>(option: T, expected: string) =>
  z
    .string(expected)
    .min(1, expected)
    .transform((text): unknown => text)
    .pipe(checked(expected, (text) => option.safeParse(text).data))
    .optional();

const time = (meaning: string) =>
  asText(listOptions.since, 'a time in ISO 8601, such as 2026-01-31T12:00:00Z or 2026-01-31').describe(
    meaning,
  );
const times = {
  since: time('Arrived at or after this time. ISO 8601.'),
  until: time('Arrived before this time. ISO 8601.'),
};
/** The query parameters of each list besides its conditions. */
const page = {
  ...times,
  limit: z
    .string()
    .transform((text) => (/^\d+$/.test(text) ? Number(text) : Number.NaN))
    .pipe(listOptions.limit.unwrap())
    .optional()
    .describe('The maximum number of items, by default 100.'),
  cursor: listOptions.cursor.describe('The `cursor` of the previous page.'),
};
const filter = z.strictObject({ ...eventFilterSchema.shape, ...times });
const change = {
  dryRun: z
    .boolean('true or false')
    .optional()
    .describe('A dry run: changes nothing, and returns what would change.'),
};
const withBody = z.strictObject({
  body: z
    .enum(['true', 'false'], 'true or false')
    .transform((value) => value === 'true')
    .optional()
    .describe('Whether to return the body and the headers, too.'),
});

const historyQuery = historyQuerySchema.extend({
  ...times,
  step: asText(historyQuerySchema.shape.step, "a duration such as '10m', above zero").describe(
    'Merges those of each step of this length, such as 10m. Steps are counted from `since`.',
  ),
});

/** Why something is done. `authorize` says who does it. */
const whySchema = accountSchema.omit({ by: true });

/** The number in a path, in one spelling only, so that the audit list names each thing in one way. */
function numberIn(id: string): number {
  if (/^(0|[1-9]\d{0,14})$/.test(id)) return Number(id);
  throw new ApiProblem(
    404,
    'not_found',
    `There is nothing with the id "${id}": an id should be a whole number.`,
  );
}

/** Where the stream of changes is. */
export const changesPath = '/changes';

/** In the order of the OpenAPI document. */
export const routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/access',
    summary: 'What the caller of the API may do',
    result: 'Access',
    act: async (_operations, { by, actions }) => ({ by, actions }),
  },
  {
    method: 'GET',
    path: '/counts',
    action: 'look',
    summary: 'The number of events, runs and quarantined deliveries, by state',
    result: 'Counts',
    act: ({ asked }) => asked.counts(),
  },
  {
    method: 'GET',
    path: '/events',
    action: 'look',
    summary: 'Events, the latest first',
    isSearch: true,
    query: filter.extend(page),
    result: 'Events',
    act: ({ events }, { query, signal }) => events.list(query, { signal }),
  },
  {
    method: 'GET',
    path: '/events/{traceId}',
    action: 'look',
    summary: 'An event with its stored runs',
    query: withBody,
    result: 'Event',
    act: async ({ events, audit }, asked) => shown(await events.get(asked.id), asked, audit, asked.id),
  },
  {
    method: 'GET',
    path: '/events/{traceId}/signature',
    action: 'look',
    summary: 'What the signature of an event proves',
    result: 'EventSignature',
    act: ({ events }, { id }) => events.checkSignature(id),
  },
  {
    method: 'POST',
    path: '/events/replay',
    action: 'replay',
    summary: 'Runs events again',
    isSearch: true,
    body: replayOptionsSchema.omit({ by: true }).extend({ filter, ...change }),
    result: 'BulkAction',
    act: async ({ events, audit }, { body: { filter: which, ...options }, by, signal }) => {
      await requireRoom(audit, options);
      return soon(events, await events.beginReplay(which as EventFilter, { ...options, by }, signal));
    },
  },
  {
    method: 'POST',
    path: '/events/dismiss',
    action: 'dismiss',
    summary: 'Marks runs as done without running them',
    isSearch: true,
    body: dismissOptionsSchema.omit({ by: true }).extend({ filter, ...change }),
    result: 'BulkAction',
    act: async ({ events, audit }, { body: { filter: which, ...options }, by, signal }) => {
      await requireRoom(audit, options);
      const terms = { ...(options as { reason: string }), by };
      return soon(events, await events.beginDismissal(which as EventFilter, terms, signal));
    },
  },
  {
    method: 'GET',
    path: '/calls',
    action: 'look',
    summary: 'Calls, the latest first',
    isSearch: true,
    query: callQuerySchema.extend({ ...page, agentId: givenText.optional() }),
    result: 'Calls',
    act: async ({ calls }, asked) => {
      const listed = await calls.list(asked.query, { signal: asked.signal });
      return { ...listed, calls: listed.calls.map((call) => shownCall(call, asked)) };
    },
  },
  {
    method: 'GET',
    path: '/calls/{callId}',
    action: 'look',
    summary: 'The record of a call',
    result: 'Call',
    act: async ({ calls }, asked) => {
      const call = await calls.get(asked.id);
      return call && shownCall(call, asked);
    },
  },
  {
    method: 'GET',
    path: '/calls/{callId}/joins',
    action: 'look',
    summary: 'What joins wait for in a call, and how they have run',
    isSearch: true,
    result: 'Joins',
    act: async ({ calls }, { id }) => ({ joins: await calls.joins(id) }),
  },
  {
    method: 'GET',
    path: '/failures',
    action: 'look',
    summary: 'Groups of similar failures, of runs that are still not done',
    isLongRead: true,
    query: failureQuerySchema,
    result: 'Failures',
    act: async ({ failures }, { query }) => ({ groups: await failures.list(query) }),
  },
  {
    method: 'POST',
    path: '/failures/{id}/mute',
    action: 'pause',
    summary: 'Mutes a group of failures, so that alerts no longer report it',
    result: 'Muted',
    body: whySchema,
    act: async ({ failures }, { id, body, by }) => ({ changed: await failures.mute(id, { ...body, by }) }),
  },
  {
    method: 'POST',
    path: '/failures/{id}/unmute',
    action: 'pause',
    summary: 'Unmutes a group of failures, so that alerts report it again',
    result: 'Muted',
    body: whySchema,
    act: async ({ failures }, { id, body, by }) => ({ changed: await failures.unmute(id, { ...body, by }) }),
  },
  {
    method: 'GET',
    path: '/handlers',
    action: 'look',
    summary: 'The handlers with what waits for them, and the live processes',
    result: 'Handlers',
    act: ({ handlers }) => handlers.list(),
  },
  {
    method: 'GET',
    path: '/handlers/{name}/history',
    action: 'look',
    summary: 'Counts and durations of the attempts of one handler over time',
    isLongRead: true,
    query: historyQuery,
    result: 'HandlerHistory',
    act: async ({ history }, { id, query }) => ({
      resolution: query['resolution'],
      points: await history.ofHandler(id, query),
    }),
  },
  {
    method: 'POST',
    path: '/handlers/{name}/pause',
    action: 'pause',
    summary: 'Pauses a handler in every process',
    body: whySchema,
    result: 'Paused',
    act: ({ handlers }, { id, body, by }) => handlers.pause(id, { ...body, by }),
  },
  {
    method: 'POST',
    path: '/handlers/{name}/resume',
    action: 'pause',
    summary: 'Resumes a paused handler in every process',
    result: 'Resumed',
    body: whySchema,
    act: async ({ handlers }, { id, body, by }) => ({ resumed: await handlers.resume(id, { ...body, by }) }),
  },
  {
    method: 'GET',
    path: '/quarantine',
    action: 'look',
    summary: 'Deliveries in quarantine, the latest first',
    isLongRead: true,
    query: quarantineQuerySchema.extend({
      ...page,
      traceId: givenText.optional().describe('The trace id in the header, or part of it.'),
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
    act: async ({ quarantine, audit }, asked) => {
      const id = numberIn(asked.id);
      const whole = await quarantine.get(id);
      const found = whole && { ...whole, body: base64Of(whole.body) };
      return shown(found, asked, audit, `delivery ${id}`);
    },
  },
  {
    method: 'GET',
    path: '/quarantine/{id}/signature',
    action: 'look',
    summary: 'Which scheme would verify a delivery in quarantine',
    result: 'SignatureCheck',
    act: ({ quarantine }, { id }) => quarantine.checkSignature(numberIn(id)),
  },
  {
    method: 'POST',
    path: '/quarantine/{id}/release',
    action: 'quarantine',
    summary: 'Verifies a delivery again, and releases it as an event',
    body: whySchema,
    result: 'Released',
    act: ({ quarantine }, { id, body, by }) => quarantine.release(numberIn(id), { ...body, by }),
  },
  {
    method: 'DELETE',
    path: '/quarantine/{id}',
    action: 'quarantine',
    summary: 'Discards a delivery permanently',
    result: 'Discarded',
    // In the body: proxies log queries, and a reason may name a person.
    body: whySchema,
    act: async ({ quarantine }, { id, body, by }) => ({
      discarded: await quarantine.discard(numberIn(id), { ...body, by }),
    }),
  },
  {
    method: 'POST',
    path: '/quarantine/reverify',
    action: 'quarantine',
    summary: 'Verifies all unauthenticated deliveries again, and releases those that verify',
    isSearch: true,
    body: whySchema.extend(change),
    result: 'Reverified',
    act: ({ quarantine }, { body, by, signal }) =>
      body['dryRun'] === true ? quarantine.previewReverify(signal) : quarantine.reverify({ ...body, by }),
  },
  {
    method: 'GET',
    path: '/alerts',
    action: 'look',
    summary: 'The alerts that are raised',
    result: 'Alerts',
    act: async ({ alerts }) => ({ alerts: await alerts.list() }),
  },
  {
    method: 'GET',
    path: '/history',
    action: 'look',
    summary: 'Counts and durations over time, by minute for two days or by hour for 90 days',
    isLongRead: true,
    query: historyQuery,
    result: 'History',
    act: async ({ history }, { query }) => ({
      resolution: query['resolution'],
      points: await history.list(query),
    }),
  },
  {
    method: 'GET',
    path: '/backlog',
    action: 'look',
    summary: 'How much waits now, and how long the oldest of it has waited',
    result: 'Backlog',
    act: async ({ history }) => {
      const { waiting, oldestWaiting } = await history.backlog();
      return { waiting, oldestWaiting };
    },
  },
  {
    method: 'GET',
    path: '/audit',
    action: 'look',
    summary: 'The audit list: what people have done, the latest first',
    query: auditQuerySchema.extend(page),
    result: 'Audit',
    act: ({ audit }, { query }) => audit.list(query),
  },
  {
    method: 'GET',
    path: '/audit/running',
    action: 'look',
    summary: 'The replays and dismissals in progress',
    result: 'Running',
    act: async ({ audit }) => ({ entries: await audit.running() }),
  },
  {
    method: 'POST',
    path: '/audit/{id}/stop',
    // Each needs the action that began it.
    action: ['replay', 'dismiss'],
    summary: 'Stops a replay or a dismissal in progress',
    body: whySchema,
    result: 'Stopped',
    act: async ({ events, audit }, { id, body, by, actions }) => {
      const entry = numberIn(id);
      const action = await audit.actionOf(entry);
      if ((action === 'replay' || action === 'dismiss') && !actions.includes(action)) throw forbidden(action);
      return { stopped: await events.stop(entry, { ...body, by }) };
    },
  },
  {
    method: 'GET',
    path: '/drift',
    action: 'look',
    summary: 'How events differ from their documentation',
    result: 'Drift',
    act: async ({ drift }) => ({ findings: await drift.list() }),
  },
  {
    method: 'POST',
    path: '/erase',
    action: 'erase',
    summary: 'Erases a call, or everything that names a phone number',
    isSearch: true,
    body: z.strictObject({
      callId: givenText.optional(),
      phoneNumber: givenText.optional(),
      ...whySchema.shape,
      ...change,
    }),
    result: 'Erased',
    // Never rewrites the database: deliveries would wait for that, and get 503 if it takes longer than their senders wait.
    act: ({ erasure }, { body, by, signal }) =>
      erasure.erase({ ...body, by, compact: false } as unknown as ErasureTarget, [], signal),
  },
];
