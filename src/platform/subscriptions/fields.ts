/** The fields of a subscription in requests, and the schemas that check them before they are sent. */
import { z } from 'zod';
import { configError } from '../../errors.ts';
import type { EventPattern } from '../../events/names.ts';
import { headerName } from '../../kit/header-fields.ts';
import { isObject, parseStrictly } from '../../option-problems.ts';

/**
 * A whole subscription, as `subscriptions.replace` sends it (platform document, WebhookSubscription, request fields).
 * Fields that are left out are cleared or reset.
 */
export interface WholeSubscription {
  /** Not blank, and unique in the organization. */
  readonly name: string;
  /** Free text, at most 1,500 characters. */
  readonly description?: string;
  /** Where deliveries go. It needs `https://` and a domain name, or no delivery will ever arrive. */
  readonly url: string;
  /** Whether deliveries are attempted; false pauses them, and events during the pause are not delivered later. */
  readonly active: boolean;
  /** Whether deliveries are signed. Turning it on issues a secret, which is returned once. */
  readonly enable_signed_webhooks: boolean;
  /** Event names such as `CallHandler.CallEnded`, case-sensitive. An empty list, or `['*']`, means all. */
  readonly events: readonly EventPattern[];
  /** Sent with each delivery, for example credentials for the receiver. Never in an error or a log. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Restricts the subscription to these agents. The field's name is not in the platform's document. */
  readonly agent_ids?: readonly string[];
  /** Restricts the subscription to these workspaces. The field's name is not in the platform's document. */
  readonly workspace_ids?: readonly string[];
}

type Defaulted = 'active' | 'enable_signed_webhooks' | 'events';

/** A subscription to create. `active` and `enable_signed_webhooks` are true by default, and `events` means all. */
export type NewSubscription = Omit<WholeSubscription, Defaulted> &
  Partial<Pick<WholeSubscription, Defaulted>>;

/** The fields of a subscription to change. `headers` and lists replace the existing ones. */
export type SubscriptionPatch = Partial<WholeSubscription>;

/** The most characters of a description (platform document, Limits). */
const longestDescription = 1_500;

const expectedName = 'a name that is not blank';
const expectedUrl = 'a URL that begins with https:// (or http://)';
const text = z.string('text');
const ids = z.array(text.min(1, 'an id'), 'a list of ids');

/**
 * The rules of the platform document, Limits. Nothing else is checked: a value that the platform would accept must not
 * fail here.
 */
export const subscriptionFields = {
  name: z.string(expectedName).refine((name) => name.trim() !== '', expectedName),
  // Counted in characters: a character may be two units of a JavaScript string, and counting units could refuse a
  // description that the platform accepts.
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

/** The argument of `replace`. */
export const wholeSchema = z.strictObject({ ...subscriptionFields, ...optionalFields });

/** The argument of `create`. */
export const newSchema = z.strictObject({
  ...subscriptionFields,
  ...optionalFields,
  active: subscriptionFields.active.default(true),
  enable_signed_webhooks: subscriptionFields.enable_signed_webhooks.default(true),
  events: subscriptionFields.events.default([]),
});

/** The patch of `update`. */
export const patchSchema = z.strictObject(subscriptionFields).partial();

/** The argument of `ensure`. Without defaults, so that fields that are not given stay as they are. */
export const wantedSchema = patchSchema.extend({
  name: subscriptionFields.name,
  url: subscriptionFields.url,
});

/**
 * Checks the fields of a subscription. An option among them, such as `secretFile`, belongs into the next argument, and
 * the error says so.
 *
 * @throws ConfigError
 */
export function readFields<Schema extends z.ZodObject>(
  schema: Schema,
  fields: unknown,
  options: z.ZodObject,
  { operation, argument }: { readonly operation: string; readonly argument: string },
): z.output<Schema> {
  const misplaced = Object.keys(isObject(fields) ? fields : {}).find((name) =>
    Object.hasOwn(options.shape, name),
  );
  if (misplaced === undefined) return parseStrictly(schema, fields, operation, argument);
  throw configError('option_invalid', {
    option: `${misplaced} in ${operation}`,
    expected: 'in the last argument, the options',
    found: `in the ${argument}`,
    fix: `Pass { ${misplaced} } as the last argument.`,
  });
}
