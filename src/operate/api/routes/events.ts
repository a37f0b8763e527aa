/** The routes of events and calls. */
import { givenText } from '../../../errors/option-problems.ts';
import { callQuerySchema } from '../../calls.ts';
import { dismissOptionsSchema } from '../../bulk/dismissal.ts';
import type { EventFilter } from '../../events.ts';
import { replayOptionsSchema } from '../../bulk/replay.ts';
import { requireRoom, soon } from '../bounds.ts';
import type { Route } from '../route.ts';
import { shown, shownCall } from '../shown.ts';
import { page, filter, change, withBody } from './parameters.ts';

export const eventsRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/events',
    action: 'look',
    summary: 'Events, the latest first',
    bound: 'search',
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
    bound: 'search',
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
    bound: 'search',
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
    bound: 'search',
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
    bound: 'search',
    result: 'Joins',
    act: async ({ calls }, { id }) => ({ joins: await calls.joins(id) }),
  },
];
