/** The fields of a subscription in requests, and the schemas that check them before they are sent. */
import { z } from 'zod';
import { configError } from '../../errors/errors.ts';
import type { KnownEventName } from '../../events/names.ts';
import { fieldsOf } from '../../kit/values.ts';
import { parseStrictly, requireHeaderNames } from '../../errors/option-problems.ts';
import type { OpenEnumeration } from '../requests/shapes.ts';
import { type SecretOptions, secretOptionsSchema } from '../secrets/keep-secret.ts';

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
  /** Whether deliveries are attempted. False pauses them; events during the pause are not delivered later. */
  readonly active: boolean;
  /** Whether deliveries are signed. Turning it on issues a secret, which is returned once. */
  readonly enable_signed_webhooks: boolean;
  /** Event names such as `CallHandler.CallEnded`, case-sensitive. An empty list, or `['*']`, means all. */
  readonly events: readonly OpenEnumeration<KnownEventName | '*'>[];
  /** Sent with each delivery, for example credentials for the receiver. Never in an error or a log. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Restricts the subscription to these agents. The platform's document doesn't show the name: it is documented
   * elsewhere.
   */
  readonly agent_ids?: readonly string[];
  /** Restricts the subscription to these workspaces. The name is documented elsewhere, too. */
  readonly workspace_ids?: readonly string[];
}

type Defaulted = 'active' | 'enable_signed_webhooks' | 'events';

/** A subscription to create. `active` and `enable_signed_webhooks` are true by default, and `events` means all. */
export type NewSubscription = Omit<WholeSubscription, Defaulted> &
  Partial<Pick<WholeSubscription, Defaulted>>;

/** The fields of a subscription to change. `headers` and lists replace the existing ones. */
export type SubscriptionPatch = Partial<WholeSubscription>;

/** A subscription that should exist. It is identified by its name. Fields that are left out keep their values. */
export type WantedSubscription = Pick<WholeSubscription, 'name' | 'url'> & Partial<WholeSubscription>;

/** What to do with an unknown field of the answer: send it back unchanged, or leave it out. */
export type UnknownFields = Readonly<Record<string, 'send-back' | 'leave-out'>>;

/** Options of `subscriptions.update` and the operations built on it. */
export interface UpdateOptions extends SecretOptions {
  /** What to do with unknown fields of the platform's answer. By default, they stop the update. */
  readonly unknownFields?: UnknownFields | undefined;
}

/** The most characters of a description (platform document, Limits). */
const maxDescription = 1_500;

const expectedName = 'a name that is not blank';
const expectedUrl = 'a URL that begins with https:// (or http://)';
const text = z.string('text');
const ids = z.array(text.min(1, 'an id'), 'a list of ids');

/** The rules of the platform document, Limits, and no others: a value that the platform accepts must not fail. */
export const subscriptionFields = {
  name: z.string(expectedName).refine((name) => name.trim() !== '', expectedName),
  description: text.max(maxDescription, `text of at most ${maxDescription} characters`),
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
    .superRefine(requireHeaderNames),
  agent_ids: ids,
  workspace_ids: ids,
} as const;

/** The fields that are unset when they are left out. */
export const optionalFields = {
  description: true,
  headers: true,
  agent_ids: true,
  workspace_ids: true,
} as const;

const allFields = z.strictObject(subscriptionFields);

export const wholeSchema = allFields.partial(optionalFields);

export const newSchema = wholeSchema.extend({
  active: subscriptionFields.active.default(true),
  enable_signed_webhooks: subscriptionFields.enable_signed_webhooks.default(true),
  events: subscriptionFields.events.default([]),
});

const patchSchema = allFields.partial();

/** The argument of `ensure`. Without defaults, so that fields that are not given keep their values. */
export const wantedSchema = patchSchema.extend({
  name: subscriptionFields.name,
  url: subscriptionFields.url,
});

export const updateOptionsSchema = secretOptionsSchema.extend({
  unknownFields: z
    .record(
      z.string(),
      z.enum(['send-back', 'leave-out'], "'send-back' or 'leave-out'"),
      'an object of field names',
    )
    .optional(),
});

/** Checks the fields. The error for a misplaced option, such as `secretFile`, says where it belongs. */
export function readFields<Schema extends z.ZodObject>(
  schema: Schema,
  fields: unknown,
  options: z.ZodObject,
  { operation, argument }: { readonly operation: string; readonly argument: string },
): z.output<Schema> {
  const misplaced = Object.keys(fieldsOf(fields)).find((name) => Object.hasOwn(options.shape, name));
  if (misplaced === undefined) return parseStrictly(schema, fields, operation, argument);
  throw configError('option_invalid', {
    option: `${misplaced} in ${operation}`,
    expected: 'in the last argument, the options',
    found: `in the ${argument}`,
    fix: `Pass { ${misplaced} } as the last argument.`,
  });
}

/** Checks a patch. It can't clear fields: an unset variable must not clear the credentials of a receiver. */
export function readPatch(patch: SubscriptionPatch, operation: string): SubscriptionPatch {
  const fields: readonly (readonly [string, unknown])[] = Object.entries(fieldsOf(patch));
  const cleared = fields.find(([, value]) => value === undefined || value === null);
  if (cleared !== undefined) {
    throw configError('option_invalid', {
      option: `${cleared[0]} in ${operation}`,
      expected: 'a value, because a patch changes the fields that it names and clears none',
      found: String(cleared[1]),
      fix: 'Leave it out to keep it. To clear it, call subscriptions.replace(id, whole) without it.',
    });
  }
  const place = { operation, argument: 'patch' };
  const checked = readFields(patchSchema, patch, updateOptionsSchema, place) as SubscriptionPatch;
  if (fields.length > 0) return checked;
  throw configError('option_invalid', {
    option: `${operation}(patch)`,
    expected: 'an object with at least one field to change',
    found: 'empty',
  });
}
