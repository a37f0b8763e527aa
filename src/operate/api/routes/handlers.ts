/** The routes of handlers and their failures. */
import { failureQuerySchema } from '../../failures.ts';
import type { Route } from '../route.ts';
import { historyQuery, whySchema } from './parameters.ts';

export const handlersRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/failures',
    action: 'look',
    summary: 'Groups of similar failures, of runs that are still not done',
    bound: 'longRead',
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
    bound: 'longRead',
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
];
