import { matches } from '../../events/names.ts';
import type { SandboxEvent, Subscription } from '../model.ts';

/**
 * Whether an active subscription asks for an event of its organization: its names must match the event's, and its scope
 * must include the agent or the workspace (platform document, WebhookSubscription and Delivery rules).
 *
 * Names are case-sensitive; no names, or `*`, mean every event. That `Service.*` means all events of a service is this
 * sandbox's choice: the document shows `["*"]` only.
 */
export function wants(subscription: Subscription, event: SandboxEvent): boolean {
  return wantsName(subscription, event.eventName) && isInScope(subscription, event);
}

function wantsName({ events }: Subscription, eventName: string): boolean {
  return events.length === 0 || events.some((pattern) => matches(pattern, eventName));
}

function isInScope({ scope, agentIds, workspaceIds }: Subscription, event: SandboxEvent): boolean {
  if (scope === 'AGENT') return agentIds?.includes(event.agentId) ?? false;
  if (scope === 'WORKSPACE') {
    return event.workspaceId !== undefined && (workspaceIds?.includes(event.workspaceId) ?? false);
  }
  return true;
}
