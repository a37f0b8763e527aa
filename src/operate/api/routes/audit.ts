/** The routes of the audit list, and of erasure. */
import { z } from 'zod';
import { givenText } from '../../../errors/option-problems.ts';
import { auditQuerySchema } from '../../audit.ts';
import type { ErasureTarget } from '../../erasure/erasure-target.ts';
import { forbidden } from '../problem.ts';
import type { Route } from '../route.ts';
import { page, change, whySchema, numberIn } from './parameters.ts';

export const auditRoutes: readonly Route[] = [
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
    method: 'POST',
    path: '/erase',
    action: 'erase',
    summary: 'Erases a call, or everything that names a phone number',
    bound: 'search',
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
