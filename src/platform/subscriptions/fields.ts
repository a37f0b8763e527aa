/** What is sent about a subscription, checked before it is sent. */
import { z } from 'zod';
import type { EventPattern } from '../../events/names.ts';
import { headerName } from '../../kit/header-fields.ts';

/**
 * A subscription as `subscriptions.replace` sends it: everything that the platform is to know (platform document,
 * WebhookSubscription, request fields). What is left out is cleared or reset.
 */
export interface WholeSubscription {
  /** Not blank, and unique in the organization. */
  readonly name: string;
  /** Free text, at most 1,500 characters. */
  readonly description?: string;
  /** Where deliveries go: `https://` and a domain name, or none will ever arrive. */
  readonly url: string;
  /** Whether deliveries are attempted; false pauses them, and what happens meanwhile is not delivered later. */
  readonly active: boolean;
  /** Whether deliveries are signed. Turning it on issues a secret, which is returned once. */
  readonly enable_signed_webhooks: boolean;
  /** Event names such as `CallHandler.CallEnded`; upper and lower case differ. None, or `['*']`, means all. */
  readonly events: readonly EventPattern[];
  /** Sent with each delivery, for example credentials for the receiver. Not in any error or log. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Restricts the subscription to these agents. The field's name is not in the platform's document. */
  readonly agent_ids?: readonly string[];
  /** Restricts the subscription to these workspaces. The field's name is not in the platform's document. */
  readonly workspace_ids?: readonly string[];
}

type Defaulted = 'active' | 'enable_signed_webhooks' | 'events';

/** A subscription to create. `active` and `enable_signed_webhooks` are true unless given; without `events` it gets all. */
export type NewSubscription = Omit<WholeSubscription, Defaulted> &
  Partial<Pick<WholeSubscription, Defaulted>>;

/** What is to change about a subscription. `headers` and lists replace the ones there are. */
export type SubscriptionPatch = Partial<WholeSubscription>;

/** The most characters of a description (platform document, Limits). */
const longestDescription = 1_500;

const expectedName = 'a name that is not blank';
const expectedUrl = 'a URL that begins with https:// (or http://)';
const text = z.string('text');
const ids = z.array(text.min(1, 'an id'), 'a list of ids');

/**
 * The rules of the platform document, Limits. Nothing that isn't a rule is checked: what the platform would take must not
 * fail here.
 */
export const subscriptionFields = {
  name: z.string(expectedName).refine((name) => name.trim() !== '', expectedName),
  // A character may be two units of a JavaScript string. Counted in those, the platform might take what we refuse.
  description: text.refine(
    (description) => Array.from(description).length <= longestDescription,
    `text of at most ${longestDescription} characters`,
  ),
  url: z.string(expectedUrl).regex(/^https?:\/\/.*/, expectedUrl),
  active: z.boolean('true or false'),
  enable_signed_webhooks: z.boolean('true or false'),
  events: z.array(text.min(1, "an event's name"), "a list of event names such as 'CallHandler.CallEnded'"),
  headers: z
    .record(
      z.string(),
      text.regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'a text that a header can carry'),
      'an object of header names and values',
    )
    .refine(
      (headers) => Object.keys(headers).every((name) => headerName.test(name)),
      'an object with names that headers can have',
    ),
  agent_ids: ids,
  workspace_ids: ids,
} as const;

const optionalFields = {
  description: subscriptionFields.description.optional(),
  headers: subscriptionFields.headers.optional(),
  agent_ids: subscriptionFields.agent_ids.optional(),
  workspace_ids: subscriptionFields.workspace_ids.optional(),
};

/** What `replace` takes. */
export const wholeSchema = z.strictObject({ ...subscriptionFields, ...optionalFields });

/** What `create` takes. */
export const newSchema = z.strictObject({
  ...subscriptionFields,
  ...optionalFields,
  active: subscriptionFields.active.default(true),
  enable_signed_webhooks: subscriptionFields.enable_signed_webhooks.default(true),
  events: subscriptionFields.events.default([]),
});

/** What `update` takes. */
export const patchSchema = z.strictObject(subscriptionFields).partial();

/** What `ensure` takes: what is not given is left as it is. */
export const wantedSchema = patchSchema.extend({
  name: subscriptionFields.name,
  url: subscriptionFields.url,
});
