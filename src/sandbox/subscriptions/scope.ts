import type { Scope, Subscription } from '../model.ts';

/** What a subscription is restricted to, which follows from its lists (platform document, WebhookSubscription). */
export function scopeOf({ agentIds, workspaceIds }: Pick<Subscription, 'agentIds' | 'workspaceIds'>): Scope {
  if (agentIds !== undefined) return 'AGENT';
  return workspaceIds === undefined ? 'ORGANIZATION' : 'WORKSPACE';
}
