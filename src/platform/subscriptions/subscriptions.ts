import { parseStrictly } from '../../errors/option-problems.ts';
import { defined } from '../../kit/values.ts';
import {
  type CallOptions,
  type PageOptions,
  readCallOptions,
  readPageOptions,
} from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';
import { type SecretOptions, secretOptionsSchema } from '../secrets/keep-secret.ts';
import { type EnsuredSubscription, ensureSubscription } from './ensure.ts';
import {
  type NewSubscription,
  type SubscriptionPatch,
  type UpdateOptions,
  type WantedSubscription,
  type WholeSubscription,
  newSchema,
  readFields,
  readPatch,
  updateOptionsSchema,
  wantedSchema,
  wholeSchema,
} from './fields.ts';
import { countSubscriptions, getSubscription, listSubscriptions } from './requests.ts';
import type { Subscription } from './subscription.ts';
import { type RotatedSecret, type SubscriptionResult, SubscriptionWriter } from './writer.ts';

/** Registered destinations of deliveries (platform document, Webhook subscriptions). */
export class Subscriptions {
  readonly #connection: Connection;
  readonly #writer: SubscriptionWriter;

  /** @internal */
  constructor(connection: Connection) {
    this.#connection = connection;
    this.#writer = new SubscriptionWriter(connection);
  }

  /**
   * Creates a subscription, signed unless `enable_signed_webhooks` is false. Not in the platform's document: documented
   * elsewhere.
   *
   * @throws ConfigError when a field breaks a rule of the document; PlatformError, for example 400 when the name is
   * taken; SecretNotKeptError
   * @example
   * const { subscription, secret } = await platform.subscriptions.create(
   *   { name: 'calls', url: 'https://calls.example.com/webhooks', events: ['CallHandler.CallEnded'] },
   *   { secretFile: './secrets' },
   * );
   */
  async create(subscription: NewSubscription, options: SecretOptions = {}): Promise<SubscriptionResult> {
    const operation = 'subscriptions.create';
    const place = { operation, argument: 'subscription' };
    const whole = readFields(newSchema, subscription, secretOptionsSchema, place) as WholeSubscription;
    const checked = parseStrictly(secretOptionsSchema, options, operation);
    return this.#writer.create(operation, whole, checked);
  }

  /**
   * Reads one subscription, without its secret.
   *
   * @throws PlatformError 404 when there is none of this id
   * @example const { name, active } = await platform.subscriptions.get(id);
   */
  async get(id: string, options: CallOptions = {}): Promise<Subscription> {
    const operation = 'subscriptions.get';
    return getSubscription(this.#connection, operation, id, readCallOptions(options, operation));
  }

  /**
   * Lists all subscriptions of the organization. Further pages are fetched as you iterate. Not in the platform's
   * document: documented elsewhere.
   *
   * @example for await (const { name, active } of platform.subscriptions.list()) console.log(name, active);
   */
  list(options: PageOptions = {}): AsyncGenerator<Subscription, void, undefined> {
    const operation = 'subscriptions.list';
    return listSubscriptions(this.#connection, { operation, ...readPageOptions(options, operation) });
  }

  /** Counts the subscriptions; undefined when the platform doesn't say. Not in the platform's document. */
  async count(options: CallOptions = {}): Promise<number | undefined> {
    const operation = 'subscriptions.count';
    return countSubscriptions(this.#connection, operation, readCallOptions(options, operation));
  }

  /**
   * Changes only the fields in the patch. The platform can only replace a subscription (platform document, PUT), so it
   * is read, merged and written back whole. Updates of one subscription through one client run one at a time; between
   * two clients, the later write replaces the earlier one completely.
   *
   * @throws RingbackError `update_unsafe` when writing back could clear something; ConfigError for a patch with
   * `undefined` or `null` (to clear a field, use `replace`); PlatformError; SecretNotKeptError
   * @example await platform.subscriptions.update(id, { events: ['CallHandler.CallEnded'] });
   */
  async update(
    id: string,
    patch: SubscriptionPatch,
    options: UpdateOptions = {},
  ): Promise<SubscriptionResult> {
    return this.#update('update', id, patch, options);
  }

  /**
   * Replaces the whole configuration: fields that are left out are cleared or reset.
   *
   * @throws ConfigError when a field breaks a rule of the document; PlatformError; SecretNotKeptError
   * @example
   * await platform.subscriptions.replace(id, {
   *   name: 'calls',
   *   url: 'https://calls.example.com/webhooks',
   *   active: true,
   *   enable_signed_webhooks: true,
   *   events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'],
   * });
   */
  async replace(
    id: string,
    whole: WholeSubscription,
    options: SecretOptions = {},
  ): Promise<SubscriptionResult> {
    const operation = 'subscriptions.replace';
    const place = { operation, argument: 'whole' };
    const checked = readFields(wholeSchema, whole, secretOptionsSchema, place) as WholeSubscription;
    const secretOptions = parseStrictly(secretOptionsSchema, options, operation);
    return this.#writer.replace(operation, id, checked, secretOptions);
  }

  /**
   * Deletes a subscription. Not in the platform's document: documented elsewhere.
   *
   * @throws PlatformError 404 when there is none of this id
   * @example await platform.subscriptions.delete(id);
   */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    const operation = 'subscriptions.delete';
    await this.#writer.delete(operation, id, readCallOptions(options, operation));
  }

  /**
   * Issues a new signing secret. For 72 hours, deliveries are also signed with the previous secret, so that a receiver
   * that reads `secretFile` refuses none. Not in the platform's document: documented elsewhere.
   *
   * @throws PlatformError; SecretNotKeptError
   * @example await platform.subscriptions.rotateSecret(id, { secretFile: process.env.RINGBACK_SECRETS_FILE });
   */
  async rotateSecret(id: string, options: SecretOptions = {}): Promise<RotatedSecret> {
    const operation = 'subscriptions.rotateSecret';
    const checked = parseStrictly(secretOptionsSchema, options, operation);
    return this.#writer.rotate(operation, id, checked);
  }

  /**
   * Turns signing on. An unsigned subscription gets a new secret, which is returned once; a signed one keeps its own,
   * and `secret` is undefined (platform document, States and transitions).
   *
   * @throws as `update` does
   * @example const { secret } = await platform.subscriptions.enableSigning(id, { secretFile: './secrets' });
   */
  async enableSigning(id: string, options: UpdateOptions = {}): Promise<SubscriptionResult> {
    return this.#update('enableSigning', id, { enable_signed_webhooks: true }, options);
  }

  /**
   * Turns signing off. Then only the subscription's headers can authenticate a delivery.
   *
   * @throws as `update` does
   * @example await platform.subscriptions.disableSigning(id);
   */
  async disableSigning(id: string, options: UpdateOptions = {}): Promise<SubscriptionResult> {
    return this.#update('disableSigning', id, { enable_signed_webhooks: false }, options);
  }

  /**
   * Pauses deliveries. Events during the pause are not delivered later.
   *
   * @throws as `update` does
   * @example await platform.subscriptions.pause(id);
   */
  async pause(id: string, options: UpdateOptions = {}): Promise<SubscriptionResult> {
    return this.#update('pause', id, { active: false }, options);
  }

  /**
   * Resumes deliveries after a pause.
   *
   * @throws as `update` does
   * @example await platform.subscriptions.resume(id);
   */
  async resume(id: string, options: UpdateOptions = {}): Promise<SubscriptionResult> {
    return this.#update('resume', id, { active: true }, options);
  }

  /**
   * Creates the subscription of this name, or changes the fields that differ, or does nothing. If it is called again,
   * or twice at once, there is still only one subscription. Fields that are left out keep their values.
   *
   * @throws as `create` and `update` do
   * @example
   * const { outcome } = await platform.subscriptions.ensure(
   *   { name: 'calls', url: 'https://calls.example.com/webhooks', events: ['*'] },
   *   { secretFile: './secrets' },
   * );
   */
  async ensure(wanted: WantedSubscription, options: UpdateOptions = {}): Promise<EnsuredSubscription> {
    const operation = 'subscriptions.ensure';
    const place = { operation, argument: 'subscription' };
    // A field that is undefined counts as not given, as it does when the subscription is created.
    const checked = defined(
      readFields(wantedSchema, wanted, updateOptionsSchema, place),
    ) as WantedSubscription;
    const checkedOptions = parseStrictly(updateOptionsSchema, options, operation);
    return ensureSubscription(operation, checked, checkedOptions, this.#connection, this.#writer);
  }

  #update(
    called: keyof Subscriptions,
    id: string,
    patch: SubscriptionPatch,
    options: UpdateOptions,
  ): Promise<SubscriptionResult> {
    const operation = `subscriptions.${called}`;
    const checked = readPatch(patch, operation);
    return this.#writer.update(
      operation,
      id,
      checked,
      parseStrictly(updateOptionsSchema, options, operation),
    );
  }
}
