/** The routes about the inbox as a whole. */
import type { Route } from '../route.ts';
import { historyQuery } from './parameters.ts';

export const inboxRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/access',
    summary: 'What the caller of the API may do, and what time it is at the receiver',
    result: 'Access',
    act: async ({ clock }, { by, actions }) => ({ by, actions, now: new Date(clock.now()) }),
  },
  {
    method: 'GET',
    path: '/counts',
    action: 'look',
    summary: 'The number of events, runs and quarantined deliveries, by state',
    result: 'Counts',
    act: ({ gated }) => gated.counts(),
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
    summary: 'Counts and durations over time: by minute for two days, or by hour for 90 days',
    bound: 'longRead',
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
    act: ({ history }) => history.backlog(),
  },
  {
    method: 'GET',
    path: '/drift',
    action: 'look',
    summary: 'How events differ from their documentation',
    result: 'Drift',
    act: async ({ drift }) => ({ findings: await drift.list() }),
  },
];
