import { z } from 'zod';
import type { CallOptions } from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';
import { inShape } from '../requests/shapes.ts';
import type { IssuedSecret } from '../secrets/issued-secret.ts';
import { type SecretOptions, type SecretToKeep, keepingSecret } from '../secrets/keep-secret.ts';
import { type SubscriptionWarning, missingInFile, notIssued, warningsOf } from './checks.ts';
import type { SubscriptionPatch, UpdateOptions, WholeSubscription } from './fields.ts';
import { Handover, KeyedMutex } from './handover.ts';
import { differenceOf, wholeWith } from './merge.ts';
import { pathOf, rootPath } from './requests.ts';
import { type Subscription, subscriptionShape } from './subscription.ts';

/** The result of writing a subscription. */
export interface SubscriptionResult {
  /** As the platform stored it. */
  readonly subscription: Subscription;
  /** The secret, if the platform issued one; it shows it only once. */
  readonly secret: IssuedSecret | undefined;
  /** Probable mistakes, such as a url that the platform never delivers to. */
  readonly warnings: readonly SubscriptionWarning[];
}

/** The result of a rotation. */
export interface RotatedSecret {
  readonly secret: IssuedSecret;
  /** Until when deliveries are also signed with the previous secret: 72 hours, in the platform's notation. */
  readonly previousSecretExpiresAt: string;
}

/** Accepts any object: an unexpected field must not lose an answer with a secret, or one to merge. */
const anyObject = z.looseObject({});
const rotatedShape = z.looseObject({ previous_secret_expires_at: z.string() });

const ifCreatedInDoubt =
  'Check with subscriptions.list before you create it again, or use subscriptions.ensure. If it is there and signed, its ' +
  'secret is lost: call subscriptions.rotateSecret.';
const ifSignedInDoubt =
  'Check with subscriptions.get. If it was unsigned before and is signed now, its secret is lost: call ' +
  'subscriptions.rotateSecret.';
const ifRotatedInDoubt = 'Rotate again: the platform does not show the lost secret again.';

interface Writing {
  readonly operation: string;
  /** Undefined for a new subscription, which gets its id from the platform. */
  readonly id: string | undefined;
  /** The fields that the user gave; only these get warnings. */
  readonly given: SubscriptionPatch;
  readonly whole: WholeSubscription;
  /** Whether signing is being turned on. */
  readonly awaitsSecret: boolean;
  /** The advice if the outcome of the write is unknown. */
  readonly ifInDoubt: string | undefined;
}

/**
 * Writes subscriptions, stores issued secrets, and compares the stored subscription with the sent one. Writes to one
 * subscription run one at a time, because an update reads before it writes.
 */
export class SubscriptionWriter {
  readonly #mutex = new KeyedMutex();
  readonly #handover = new Handover();
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  create(operation: string, whole: WholeSubscription, options: SecretOptions): Promise<SubscriptionResult> {
    const awaitsSecret = whole.enable_signed_webhooks;
    const ifInDoubt = ifCreatedInDoubt;
    return this.#write({ operation, id: undefined, given: whole, whole, awaitsSecret, ifInDoubt }, options);
  }

  replace(
    operation: string,
    id: string,
    whole: WholeSubscription,
    options: SecretOptions,
  ): Promise<SubscriptionResult> {
    // Whether it was signed before is unknown, so a secret may or may not come.
    const ifInDoubt = whole.enable_signed_webhooks ? ifSignedInDoubt : undefined;
    const writing = { operation, id, given: whole, whole, awaitsSecret: false, ifInDoubt };
    return this.#mutex.run(id, options.signal, (release) => this.#write(writing, options, release));
  }

  update(
    operation: string,
    id: string,
    patch: SubscriptionPatch,
    { unknownFields, ...options }: UpdateOptions,
    given: SubscriptionPatch = patch,
  ): Promise<SubscriptionResult> {
    return this.#mutex.run(id, options.signal, async (release) => {
      const path = pathOf(id, operation);
      const reading = { operation, method: 'GET', path, signal: options.signal } as const;
      // Unchanged, even if some fields have an unexpected form.
      const current = await this.#connection.send(reading, anyObject);
      const whole = wholeWith(current, patch, unknownFields);
      const awaitsSecret = whole.enable_signed_webhooks && current['signing_enabled'] === false;
      const ifInDoubt = awaitsSecret ? ifSignedInDoubt : undefined;
      return this.#write({ operation, id, given, whole, awaitsSecret, ifInDoubt }, options, release);
    });
  }

  delete(operation: string, id: string, { signal }: CallOptions): Promise<void> {
    return this.#mutex.run(id, signal, () =>
      this.#connection.sendForNothing({
        operation,
        method: 'DELETE',
        path: pathOf(id, operation),
        signal,
      }),
    );
  }

  rotate(operation: string, id: string, options: SecretOptions): Promise<RotatedSecret> {
    return this.#mutex.run(id, options.signal, (release) => this.#rotate(operation, id, options, release));
  }

  async #rotate(
    operation: string,
    id: string,
    options: SecretOptions,
    release: () => void,
  ): Promise<RotatedSecret> {
    if (options.onSecret) this.#handover.requireOutside(id);
    const request = {
      operation,
      method: 'POST',
      path: `${pathOf(id, operation)}/rotate/secret`,
      signal: options.signal,
      mustBeAnswered: true,
      ifInDoubt: ifRotatedInDoubt,
    } as const;
    const { result, status, secret } = await keepingSecret(
      this.#inOrder(id, options),
      this.#connection.clock,
      {
        subscriptionId: id,
        release,
        ask: () => this.#connection.sendForStatus(request, anyObject),
        read: (answer, isCarriedOut) =>
          inShape(rotatedShape, answer.body, { ...request, isCarriedOut }, answer.status),
      },
    );
    // An answer without a secret has a wrong shape.
    if (secret === undefined) return inShape(z.never(), result, request, status);
    return { secret, previousSecretExpiresAt: result.previous_secret_expires_at };
  }

  #inOrder(id: string, { onSecret, ...options }: SecretOptions): SecretOptions {
    if (onSecret === undefined) return options;
    const inOrder = (issued: SecretToKeep) => this.#handover.run(id, () => onSecret(issued));
    return { ...options, onSecret: inOrder };
  }

  async #write(
    { operation, id, given, whole, awaitsSecret, ifInDoubt }: Writing,
    options: SecretOptions,
    release?: () => void,
  ): Promise<SubscriptionResult> {
    const request = {
      operation,
      ...(id === undefined
        ? ({ method: 'POST', path: rootPath } as const)
        : ({ method: 'PUT', path: pathOf(id, operation) } as const)),
      body: whole,
      signal: options.signal,
      mustBeAnswered: whole.enable_signed_webhooks,
      ifInDoubt,
      confidential: Object.values(whole.headers ?? {}),
    };
    const inOrder = id === undefined ? options : this.#inOrder(id, options);
    const { result: subscription, secret } = await keepingSecret(inOrder, this.#connection.clock, {
      subscriptionId: id,
      release,
      ask: () => this.#connection.sendForStatus(request, anyObject),
      read: ({ status, body }, isCarriedOut) =>
        inShape(subscriptionShape, body, { ...request, isCarriedOut }, status) as Subscription,
    });
    const missing = awaitsSecret ? notIssued : missingInFile;
    const warnings = [
      ...warningsOf(given, whole),
      ...notStored(whole, subscription),
      ...(secret === undefined ? missing(subscription, options.secretFile, this.#now) : []),
    ];
    this.#report(operation, subscription.id, warnings);
    return { subscription, secret, warnings };
  }

  /** The result if nothing had to be written, with the warnings of a write. */
  unchanged(
    operation: string,
    given: SubscriptionPatch,
    current: Subscription,
    secretFile: string | undefined,
  ): SubscriptionResult {
    const { signing_enabled: isSigned, headers = {} } = current;
    const warnings = [
      ...warningsOf(given, { enable_signed_webhooks: isSigned, headers }),
      ...missingInFile(current, secretFile, this.#now),
    ];
    this.#report(operation, current.id, warnings);
    return { subscription: current, secret: undefined, warnings };
  }

  get #now(): number {
    return this.#connection.clock.now();
  }

  #report(operation: string, subscriptionId: string, warnings: readonly SubscriptionWarning[]): void {
    try {
      for (const { code, message } of warnings) {
        this.#connection.logger.warn({ operation, subscriptionId, code }, message);
      }
    } catch {
      // A failing logger must not lose the result: it has the warnings, and perhaps the only copy of a secret.
    }
  }
}

/** Warns if the answer differs from what was sent: another client wrote too, or a field was silently dropped. */
function notStored(whole: WholeSubscription, subscription: Subscription): readonly SubscriptionWarning[] {
  const fields = Object.keys(differenceOf(whole, subscription) ?? {});
  if (fields.length === 0) return [];
  const message =
    `The platform should have stored the subscription as it was sent, but its answer differs in ${fields.join(', ')}. ` +
    'Read it again, and check whether somebody else is changing it at the same time.';
  return [{ code: 'not_stored', message }];
}
