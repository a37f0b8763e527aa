import type { Subscription } from '../model.ts';

/**
 * A subscription as the platform writes it (platform document, WebhookSubscription: response fields). Optional fields
 * that are unset are absent, never null. The secret is only in the answer that issues it.
 */
export function subscriptionBody(
  subscription: Subscription,
  issued?: string,
): Readonly<Record<string, unknown>> {
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

/** ISO 8601 with milliseconds and `Z`. */
export function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
