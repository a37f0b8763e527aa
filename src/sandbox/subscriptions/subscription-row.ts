import type { Subscription } from '../model.ts';
import { scopeOf } from './scope.ts';

/** A subscription as it is stored: lists and objects are JSON. */
export interface SubscriptionRow {
  readonly id: string;
  readonly organization_id: string;
  readonly created_user_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly url: string;
  readonly active: number;
  readonly events: string;
  readonly headers: string | null;
  readonly agent_ids: string | null;
  readonly workspace_ids: string | null;
  readonly request_timeout_ms: number;
  readonly retry_policy: string;
  readonly secret: string | null;
  readonly previous_secret: string | null;
  readonly previous_secret_expires_at: number | null;
  readonly created_at: number;
  readonly updated_at: number;
}

export function rowOf(subscription: Subscription): SubscriptionRow {
  return {
    id: subscription.id,
    organization_id: subscription.organizationId,
    created_user_id: subscription.createdUserId,
    name: subscription.name,
    description: subscription.description ?? null,
    url: subscription.url,
    active: Number(subscription.active),
    events: JSON.stringify(subscription.events),
    headers: written(subscription.headers),
    agent_ids: written(subscription.agentIds),
    workspace_ids: written(subscription.workspaceIds),
    request_timeout_ms: subscription.requestTimeoutMs,
    retry_policy: JSON.stringify(subscription.retryPolicy),
    secret: subscription.secret ?? null,
    previous_secret: subscription.previousSecret?.secret ?? null,
    previous_secret_expires_at: subscription.previousSecret?.expiresAt ?? null,
    created_at: subscription.createdAt,
    updated_at: subscription.updatedAt,
  };
}

export function subscriptionOf(row: SubscriptionRow): Subscription {
  const agentIds = read(row.agent_ids) as readonly string[] | undefined;
  const workspaceIds = read(row.workspace_ids) as readonly string[] | undefined;
  return {
    id: row.id,
    organizationId: row.organization_id,
    createdUserId: row.created_user_id,
    scope: scopeOf({ agentIds, workspaceIds }),
    name: row.name,
    description: row.description ?? undefined,
    url: row.url,
    active: row.active === 1,
    events: JSON.parse(row.events) as string[],
    headers: read(row.headers) as Subscription['headers'],
    agentIds,
    workspaceIds,
    requestTimeoutMs: row.request_timeout_ms,
    retryPolicy: JSON.parse(row.retry_policy) as Subscription['retryPolicy'],
    secret: row.secret ?? undefined,
    previousSecret: previousSecretOf(row),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function previousSecretOf(row: SubscriptionRow): Subscription['previousSecret'] {
  const { previous_secret: secret, previous_secret_expires_at: expiresAt } = row;
  return secret === null || expiresAt === null ? undefined : { secret, expiresAt };
}

function written(value: unknown): string | null {
  return value === undefined ? null : JSON.stringify(value);
}

function read(text: string | null): unknown {
  return text === null ? undefined : JSON.parse(text);
}
