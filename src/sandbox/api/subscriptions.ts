import type { Clock } from '../../kit/clock.ts';
import { type Subscription, isoTime } from '../model.ts';
import { created, replaced, rotated, settingsSchema } from '../subscriptions/lifecycle.ts';
import type { Subscriptions } from '../subscriptions/subscriptions.ts';
import { pageSchema, tokenAfter, validated } from './request.ts';
import { ApiError, type ApiRequest, type Route, invalidRequest, routesOf } from './route.ts';

const path = '/v1/public/webhook/subscription';

export function subscriptionRoutes(subscriptions: Subscriptions, clock: Clock): readonly Route[] {
  const route = routesOf('subscriptions', 'subscription');
  /** Another organization's subscription is answered like an unknown one, so that nobody learns which ids exist. */
  const find = ({ caller, params: { id = '' } }: ApiRequest): Subscription => {
    const subscription = subscriptions.find(id);
    if (subscription?.organizationId === caller.organizationId) return subscription;
    throw new ApiError('not_found', 'Subscription not found');
  };
  return [
    route('create', 'POST', path, ({ caller, body }) => {
      const settings = validated(settingsSchema, body, 'body');
      const subscription = created(caller, settings, clock.now());
      if (!subscriptions.add(subscription)) throw nameTaken();
      return { status: 201, body: subscriptionBody(subscription, subscription.secret) };
    }),
    route('list', 'GET', '/v1/public/webhook/subscriptions', ({ caller, query }) => {
      const { size, after } = validated(pageSchema, query, 'query');
      const { items, next } = subscriptions.page(caller.organizationId, size, after);
      const data = items.map((subscription) => subscriptionBody(subscription));
      const total = subscriptions.count(caller.organizationId);
      return { status: 200, body: { data, next_page_token: tokenAfter(next), total_count: total } };
    }),
    route('get', 'GET', `${path}/:id`, (request) => ({ status: 200, body: subscriptionBody(find(request)) })),
    route('replace', 'PUT', `${path}/:id`, (request) => {
      const before = find(request);
      const settings = validated(settingsSchema, request.body, 'body');
      const after = replaced(before, settings, clock.now());
      if (!subscriptions.update(after)) throw nameTaken();
      const issued = before.secret === undefined ? after.secret : undefined;
      return { status: 200, body: subscriptionBody(after, issued) };
    }),
    route('delete', 'DELETE', `${path}/:id`, (request) => {
      subscriptions.remove(find(request).id);
      return { status: 204 };
    }),
    route('rotate', 'POST', `${path}/:id/rotate/secret`, (request) => {
      const subscription = find(request);
      const { secret: present } = subscription;
      if (present === undefined) throw unsigned();
      const after = rotated(subscription, present, clock.now());
      subscriptions.update(after);
      const expiresAt = isoTime(after.previousSecret.expiresAt);
      return { status: 200, body: { secret: after.secret, previous_secret_expires_at: expiresAt } };
    }),
  ];
}

/**
 * A subscription as the platform writes it (platform document, WebhookSubscription: response fields). Unset optional
 * fields are absent, never null. The secret is only in the answer that issues it. The names `agent_ids`,
 * `workspace_ids` and `secret` are documented elsewhere, not in that document.
 */
function subscriptionBody(subscription: Subscription, issued?: string): Readonly<Record<string, unknown>> {
  const { description, headers, agentIds, workspaceIds } = subscription;
  return {
    id: subscription.id,
    organization_id: subscription.organizationId,
    scope: subscription.scope,
    created_user_id: subscription.createdUserId,
    name: subscription.name,
    url: subscription.url,
    events: subscription.events,
    active: subscription.active,
    ...(headers !== undefined && { headers }),
    ...(description !== undefined && { description }),
    ...(agentIds !== undefined && { agent_ids: agentIds }),
    ...(workspaceIds !== undefined && { workspace_ids: workspaceIds }),
    request_timeout_ms: subscription.requestTimeoutMs,
    retry_policy: subscription.retryPolicy,
    signing_enabled: subscription.secret !== undefined,
    ...(issued !== undefined && { secret: issued }),
    created_at: isoTime(subscription.createdAt),
    updated_at: isoTime(subscription.updatedAt),
  };
}

function nameTaken(): ApiError {
  const msg = 'Should be unique: another subscription of the organization has this name';
  return invalidRequest({ loc: ['body', 'name'], msg, type: 'unique' });
}

function unsigned(): ApiError {
  const msg = 'Should be a signed subscription: an unsigned one has no secret to rotate';
  return invalidRequest({ loc: ['path', 'id'], msg, type: 'unsigned' });
}
