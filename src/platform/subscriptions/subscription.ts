import { z } from 'zod';
import { type OpenEnumeration, listOf, recordOf, unset, withDefault } from '../requests/shapes.ts';

/** How failed attempts are retried (platform document, WebhookSubscription). */
export interface SubscriptionRetryPolicy {
  /** `FIXED_DELAY` is the only known one. */
  readonly retryStrategy: OpenEnumeration<'FIXED_DELAY'>;
  readonly maxRetryAttempts: number;
  /** In milliseconds. */
  readonly maxRetryDelayMs: number;
  readonly [field: string]: unknown;
}

/**
 * A subscription in the platform's answers (platform document, WebhookSubscription, response fields), without its
 * secret. Unlisted fields are kept unchanged.
 */
export interface Subscription {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  /** Empty for all events. */
  readonly events: readonly string[];
  readonly active: boolean;
  /** Whether it has a signing secret. */
  readonly signing_enabled: boolean;
  readonly organization_id?: string | undefined;
  readonly scope?: OpenEnumeration<'ORGANIZATION' | 'WORKSPACE' | 'AGENT'> | undefined;
  readonly created_user_id?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly description?: string | undefined;
  /** The names of the two scope lists are documented elsewhere, not in the platform's document. */
  readonly agent_ids?: readonly string[] | undefined;
  readonly workspace_ids?: readonly string[] | undefined;
  /** How long one attempt to deliver may take, in milliseconds; 1,000 by default. Set by the platform only. */
  readonly request_timeout_ms?: number | undefined;
  /** Set by the platform only. */
  readonly retry_policy?: SubscriptionRetryPolicy | undefined;
  /** ISO 8601 with milliseconds. */
  readonly created_at?: string | undefined;
  /** ISO 8601 with milliseconds. */
  readonly updated_at?: string | undefined;
  readonly [field: string]: unknown;
}

const texts = listOf(z.string());

export const subscriptionShape = z.looseObject({
  id: z.string(),
  name: z.string(),
  url: z.string(),
  // The document doesn't require any events, and one subscription without them must not hide all others of a list.
  events: withDefault(texts, []),
  active: z.boolean(),
  signing_enabled: z.boolean(),
  organization_id: unset(z.string()),
  scope: unset(z.string()),
  created_user_id: unset(z.string()),
  headers: unset(recordOf(z.string())),
  description: unset(z.string()),
  agent_ids: unset(texts),
  workspace_ids: unset(texts),
  request_timeout_ms: unset(z.number()),
  retry_policy: unset(
    z.looseObject({ retryStrategy: z.string(), maxRetryAttempts: z.number(), maxRetryDelayMs: z.number() }),
  ),
  created_at: unset(z.string()),
  updated_at: unset(z.string()),
}) satisfies z.ZodType<Subscription>;
