/** The routes of the quarantine. */
import { givenText } from '../../../errors/option-problems.ts';
import { deliveryOf, quarantineQuerySchema } from '../../quarantine/quarantine.ts';
import type { Route } from '../route.ts';
import { base64Of, shown } from '../shown.ts';
import { page, change, withBody, whySchema, numberIn } from './parameters.ts';

export const quarantineRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/quarantine',
    action: 'look',
    summary: 'Deliveries in quarantine, the latest first',
    bound: 'longRead',
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
      return shown(found, asked, audit, deliveryOf(id));
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
    bound: 'search',
    body: whySchema.extend(change),
    result: 'Reverified',
    act: ({ quarantine }, { body, by, signal }) =>
      body['dryRun'] === true ? quarantine.previewReverify(signal) : quarantine.reverify({ ...body, by }),
  },
];
