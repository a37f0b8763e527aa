import type { Scope, Subscription } from '../model.ts';

/** What a subscription is restricted to, as its lists say (platform document, WebhookSubscription). */
export function scopeOf({ agentIds, workspaceIds }: Pick<Subscription, 'agentIds' | 'workspaceIds'>): Scope {
  if (agentIds !== undefined) return 'AGENT';
  return workspaceIds === undefined ? 'ORGANIZATION' : 'WORKSPACE';
}
