/** The states of a subscription and their transitions (platform document, States and transitions). */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Caller, Scope, Subscription } from '../model.ts';
import type { Settings } from './settings.ts';

/** How long one attempt of a delivery may take, in milliseconds (platform document, Limits). */
const defaultTimeout = 1_000;
/** The only policy that the platform has shown (docs/sandbox.md). */
const defaultRetryPolicy = {
  retryStrategy: 'FIXED_DELAY',
  maxRetryAttempts: 3,
  maxRetryDelayMs: 10_000,
} as const;
/** How long after a rotation deliveries are signed with both secrets (docs/sandbox.md). */
const overlap = 72 * 3_600_000;

export function created(caller: Caller, settings: Settings, now: number): Subscription {
  return {
    ...chosen(settings),
    id: randomUUID(),
    organizationId: caller.organizationId,
    createdUserId: caller.userId,
    requestTimeoutMs: defaultTimeout,
    retryPolicy: defaultRetryPolicy,
    secret: settings.isSigned ? newSecret() : undefined,
    previousSecret: undefined,
    createdAt: now,
    updatedAt: now,
  };
}

/** Replaces all settings and clears omitted ones. A subscription that stays signed keeps its secret. */
export function replaced(subscription: Subscription, settings: Settings, now: number): Subscription {
  const { secret = newSecret(), previousSecret } = subscription;
  return {
    ...subscription,
    ...chosen(settings),
    ...(settings.isSigned ? { secret, previousSecret } : { secret: undefined, previousSecret: undefined }),
    updatedAt: now,
  };
}

/** Gives a signed subscription a new secret; the previous one also signs for another 72 hours. */
export function rotated(
  subscription: Subscription,
  present: string,
  now: number,
): Subscription & { readonly secret: string; readonly previousSecret: { readonly expiresAt: number } } {
  return {
    ...subscription,
    secret: newSecret(),
    previousSecret: { secret: present, expiresAt: now + overlap },
    updatedAt: now,
  };
}

function chosen({ isSigned: _isSigned, ...settings }: Settings) {
  return { ...settings, scope: scopeOf(settings) };
}

/** The scope, which follows from the lists (platform document, WebhookSubscription). */
function scopeOf({ agentIds, workspaceIds }: Pick<Settings, 'agentIds' | 'workspaceIds'>): Scope {
  if (agentIds !== undefined) return 'AGENT';
  return workspaceIds === undefined ? 'ORGANIZATION' : 'WORKSPACE';
}

/** A new secret, in base64, so that schemes that decode the key can be tried as well. */
function newSecret(): string {
  return `whsec_${randomBytes(24).toString('base64')}`;
}
