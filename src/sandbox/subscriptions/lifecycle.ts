/** The states of a subscription and their transitions (platform document, States and transitions). */
import { z } from 'zod';
import { randomBytes, randomUUID } from 'node:crypto';
import { headerName } from '../../kit/header-fields.ts';
import type { Caller, Scope, Subscription } from '../model.ts';

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

const maxDescription = 1_500;

const id = z.string('Should be an id');

/** Only names and values that are valid in HTTP: any other would break every delivery. */
const headers = z.record(
  z.string().regex(headerName, 'Should be the name of a header'),
  z.string('Should be text').regex(/^[\t -~]*$/, 'Should be visible ASCII text'),
  'Should be an object of header names and values',
);

/**
 * The body that creates or replaces a subscription, with the rules of the platform's document (WebhookSubscription;
 * Limits). Unknown fields are ignored.
 */
export const settingsSchema = z
  .object(
    {
      name: z.string('Should be text').refine((name) => name.trim() !== '', 'Should not be blank'),
      description: z
        .string('Should be text')
        .max(maxDescription, `Should have at most ${maxDescription} characters`)
        .optional(),
      url: z.string('Should be text').regex(/^https?:\/\/.*/, 'Should match ^https?://.*'),
      active: z.boolean('Should be true or false'),
      enable_signed_webhooks: z.boolean('Should be true or false'),
      events: z
        .array(
          z
            .string('Should be text')
            .regex(/^(?:\*|[^.\s]+\.[^.\s]+)$/, 'Should be the name of an event, as Service.Event, or *'),
          'Should be a list of event names',
        )
        .default([]),
      headers: headers.optional(),
      // The names of the two scope lists are documented elsewhere, not in the platform's document.
      agent_ids: z.array(id, 'Should be a list of ids').optional(),
      workspace_ids: z.array(id, 'Should be a list of ids').optional(),
    },
    'Should be an object',
  )
  .transform((sent) => ({
    name: sent.name,
    description: unlessEmpty(sent.description),
    url: sent.url,
    active: sent.active,
    isSigned: sent.enable_signed_webhooks,
    events: sent.events,
    headers: unlessEmpty(sent.headers),
    agentIds: unlessEmpty(sent.agent_ids),
    workspaceIds: unlessEmpty(sent.workspace_ids),
  }))
  .refine(({ agentIds, workspaceIds }) => agentIds === undefined || workspaceIds === undefined, {
    path: ['workspace_ids'],
    message: 'Should not be given together with agent_ids: a subscription has one scope',
  });

type Settings = z.output<typeof settingsSchema>;

/** An empty list, object or text counts as omitted. */
function unlessEmpty<Value extends string | object>(value: Value | undefined): Value | undefined {
  return value === undefined || Object.keys(value).length === 0 ? undefined : value;
}
