/**
 * The paths of subscriptions, and the requests that read them (platform document, Endpoints; list: documented
 * elsewhere). The writer sends the requests that change them.
 */
import { z } from 'zod';
import { pathPart } from '../requests/address.ts';
import type { CallOptions } from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';
import { everyItem, pageQuery, pageToken } from '../requests/pages.ts';
import { listOf, unset } from '../requests/shapes.ts';
import { type Subscription, subscriptionShape } from './subscription.ts';

export const rootPath = '/v1/public/webhook/subscription';
const listPath = `${rootPath}s`;

const listShape = z.looseObject({
  data: listOf(subscriptionShape),
  next_page_token: pageToken,
  total_count: unset(z.number()),
});

export function pathOf(id: string, operation: string): string {
  return `${rootPath}/${pathPart(id, 'id', operation)}`;
}

export function getSubscription(
  connection: Connection,
  operation: string,
  id: string,
  { signal }: CallOptions,
): Promise<Subscription> {
  return connection.send(
    { operation, method: 'GET', path: pathOf(id, operation), signal },
    subscriptionShape,
  );
}

export function listSubscriptions(
  connection: Connection,
  listing: { readonly operation: string; readonly pageSize: number } & CallOptions,
): AsyncGenerator<Subscription, void, undefined> {
  return everyItem(connection, { ...listing, path: listPath }, listShape, ({ data }) => data);
}

export async function countSubscriptions(
  connection: Connection,
  operation: string,
  { signal }: CallOptions,
): Promise<number | undefined> {
  const request = { operation, method: 'GET', path: listPath, query: pageQuery(1), signal } as const;
  return (await connection.send(request, listShape)).total_count;
}
