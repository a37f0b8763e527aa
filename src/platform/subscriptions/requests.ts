/**
 * The requests about subscriptions (platform document, Endpoints; create, list, delete and rotate: documented
 * elsewhere).
 */
import { z } from 'zod';
import { everyItem, pageQuery, pageToken } from '../requests/pages.ts';
import { pathPart } from '../requests/address.ts';
import type { Connection } from '../requests/connection.ts';
import type { AnsweredBody, PlatformRequest } from '../requests/request.ts';
import { listOf } from '../requests/shapes.ts';
import { type Subscription, subscriptionShape } from './subscription.ts';
import type { WholeSubscription } from './fields.ts';

const root = '/v1/public/webhook/subscription';
const listPath = `${root}s`;
/** Accepts any object: an answer with a secret, or one to merge, must not be lost because a field has another form. */
const anyObject = z.looseObject({});

export const ifCreatedInDoubt =
  'Look with subscriptions.list before you create it again, or use subscriptions.ensure. If it is there and signed, its ' +
  'secret is lost: call subscriptions.rotateSecret.';
export const ifSignedInDoubt =
  'Look with subscriptions.get. If it was unsigned before and is signed now, its secret is lost: call ' +
  'subscriptions.rotateSecret.';
export const ifRotatedInDoubt = 'Rotate again: the platform does not show the lost secret again.';

const listShape = z.looseObject({
  data: listOf(subscriptionShape),
  next_page_token: pageToken,
  total_count: z.number().nullish(),
});

export class SubscriptionRequests {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  create(
    operation: string,
    whole: WholeSubscription,
    signal: AbortSignal | undefined,
  ): Promise<AnsweredBody> {
    return this.#connection.sendForStatus(
      { ...writing(operation, whole, signal), method: 'POST', path: root, ifInDoubt: ifCreatedInDoubt },
      anyObject,
    );
  }

  put(
    operation: string,
    id: string,
    whole: WholeSubscription,
    { ifInDoubt, signal }: Pick<PlatformRequest, 'ifInDoubt' | 'signal'>,
  ): Promise<AnsweredBody> {
    const path = pathOf(id, operation);
    return this.#connection.sendForStatus(
      { ...writing(operation, whole, signal), method: 'PUT', path, ifInDoubt },
      anyObject,
    );
  }

  /** The subscription as it came, even if some fields have an unexpected form. */
  read(
    operation: string,
    id: string,
    signal: AbortSignal | undefined,
  ): Promise<Readonly<Record<string, unknown>>> {
    return this.#connection.send(
      { operation, method: 'GET', path: pathOf(id, operation), signal },
      anyObject,
    );
  }

  get(operation: string, id: string, signal: AbortSignal | undefined): Promise<Subscription> {
    return this.#connection.send(
      { operation, method: 'GET', path: pathOf(id, operation), signal },
      subscriptionShape,
    );
  }

  list(operation: string, pageSize: number, signal: AbortSignal | undefined) {
    const listing = { operation, path: listPath, pageSize, signal };
    return everyItem(this.#connection, listing, listShape, ({ data }) => data);
  }

  async count(operation: string, signal: AbortSignal | undefined): Promise<number | undefined> {
    const request = { operation, method: 'GET', path: listPath, query: pageQuery(1), signal } as const;
    return (await this.#connection.send(request, listShape)).total_count ?? undefined;
  }

  delete(operation: string, id: string, signal: AbortSignal | undefined): Promise<void> {
    return this.#connection.sendForNothing({
      operation,
      method: 'DELETE',
      path: pathOf(id, operation),
      signal,
    });
  }

  rotate(operation: string, id: string, signal: AbortSignal | undefined): Promise<AnsweredBody> {
    const path = `${pathOf(id, operation)}/rotate/secret`;
    return this.#connection.sendForStatus(
      { operation, method: 'POST', path, signal, mustBeAnswered: true, ifInDoubt: ifRotatedInDoubt },
      anyObject,
    );
  }
}

function pathOf(id: string, operation: string): string {
  return `${root}/${pathPart(id, 'id', operation)}`;
}

function writing(
  operation: string,
  whole: WholeSubscription,
  signal: AbortSignal | undefined,
): Pick<PlatformRequest, 'operation' | 'body' | 'signal' | 'mustBeAnswered' | 'confidential'> {
  const confidential = Object.values(whole.headers ?? {});
  return { operation, body: whole, signal, mustBeAnswered: whole.enable_signed_webhooks, confidential };
}
