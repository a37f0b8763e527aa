import { z } from 'zod';
import type { CallOptions } from '../requests/call-options.ts';
import type { Connection } from '../requests/connection.ts';
import type { AnsweredBody, AskedFor } from '../requests/request.ts';
import { inShape } from '../requests/shapes.ts';
import type { IssuedSecret } from '../secrets/issued-secret.ts';
import { type SecretOptions, type SecretToKeep, keepingSecret } from '../secrets/keep-secret.ts';
import { type SubscriptionWarning, warningsOf } from './checks.ts';
import type { SubscriptionPatch, UpdateOptions, WholeSubscription } from './fields.ts';
import { Handover } from './handover.ts';
import { KeyedMutex } from './keyed-mutex.ts';
import { differenceOf, wholeWith } from './merge.ts';
import { missingInFile, missingSecret } from './missing-secret.ts';
import {
  type SubscriptionRequests,
  ifCreatedInDoubt,
  ifRotatedInDoubt,
  ifSignedInDoubt,
} from './requests.ts';
import { type Subscription, subscriptionShape } from './subscription.ts';

/** The result of writing a subscription. */
export interface SubscriptionResult {
  /** As the platform stored it. */
  readonly subscription: Subscription;
  /** Undefined unless the platform has issued a secret, which it shows only once. */
  readonly secret: IssuedSecret | undefined;
  /** What is probably a mistake, such as a url that the platform never delivers to. */
  readonly warnings: readonly SubscriptionWarning[];
}

/** The result of a rotation. */
export interface RotatedSecret {
  readonly secret: IssuedSecret;
  /** Until when deliveries are signed with the previous secret as well, as the platform wrote it: 72 hours later. */
  readonly previousSecretExpiresAt: string;
}

const rotatedShape = z.looseObject({ previous_secret_expires_at: z.string() });

/** A subscription to write. */
interface Writing {
  readonly operation: string;
  /** Undefined for a new subscription, which gets its id from the platform. */
  readonly id: string | undefined;
  /** The fields that the user gave: warnings are about these only. */
  readonly given: SubscriptionPatch;
  readonly whole: WholeSubscription;
  /** Whether signing is being turned on. */
  readonly awaitsSecret: boolean;
  /** What to do if nobody knows whether the platform has carried it out. */
  readonly ifInDoubt: string | undefined;
}

/**
 * Writes subscriptions, stores the secrets that are issued, and compares the stored subscription with the sent one.
 * Writes to one subscription run one after the other: an update reads it before it writes it.
 */
export class SubscriptionWriter {
  readonly #requests: SubscriptionRequests;
  readonly #mutex = new KeyedMutex();
  readonly #handover = new Handover();
  readonly #connection: Connection;

  constructor(requests: SubscriptionRequests, connection: Connection) {
    this.#requests = requests;
    this.#connection = connection;
  }

  create(operation: string, whole: WholeSubscription, options: SecretOptions): Promise<SubscriptionResult> {
    const awaitsSecret = whole.enable_signed_webhooks;
    const writing = {
      operation,
      id: undefined,
      given: whole,
      whole,
      awaitsSecret,
      ifInDoubt: ifCreatedInDoubt,
    };
    return this.#write(writing, options, () => this.#requests.create(operation, whole, options.signal));
  }

  replace(
    operation: string,
    id: string,
    whole: WholeSubscription,
    options: SecretOptions,
  ): Promise<SubscriptionResult> {
    // Whether it is signed by now is not known.
    const ifInDoubt = whole.enable_signed_webhooks ? ifSignedInDoubt : undefined;
    const writing = { operation, id, given: whole, whole, awaitsSecret: false, ifInDoubt };
    return this.#mutex.run(id, options.signal, (release) => this.#put(writing, id, options, release));
  }

  update(
    operation: string,
    id: string,
    patch: SubscriptionPatch,
    { unknownFields, ...options }: UpdateOptions,
    given: SubscriptionPatch = patch,
  ): Promise<SubscriptionResult> {
    return this.#mutex.run(id, options.signal, async (release) => {
      const current = await this.#requests.read(operation, id, options.signal);
      const whole = wholeWith(current, patch, unknownFields);
      const awaitsSecret = whole.enable_signed_webhooks && current['signing_enabled'] === false;
      const ifInDoubt = awaitsSecret ? ifSignedInDoubt : undefined;
      return this.#put({ operation, id, given, whole, awaitsSecret, ifInDoubt }, id, options, release);
    });
  }

  delete(operation: string, id: string, { signal }: CallOptions): Promise<void> {
    return this.#mutex.run(id, signal, () => this.#requests.delete(operation, id, signal));
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
    const request = { operation, method: 'POST', ifInDoubt: ifRotatedInDoubt } as const;
    const { result, status, secret } = await keepingSecret(
      this.#inOrder(id, options),
      this.#connection.clock,
      {
        subscriptionId: id,
        release,
        ask: () => this.#requests.rotate(operation, id, options.signal),
        read: (answer, isCarriedOut) =>
          inShape(rotatedShape, answer.body, { ...request, isCarriedOut }, answer.status),
      },
    );
    // An answer without a secret is reported like any other wrong shape.
    if (secret === undefined) return inShape(z.never(), result, request, status);
    return { secret, previousSecretExpiresAt: result.previous_secret_expires_at };
  }

  #put(
    writing: Writing,
    id: string,
    options: SecretOptions,
    release: () => void,
  ): Promise<SubscriptionResult> {
    const { operation, whole, ifInDoubt } = writing;
    const ask = () => this.#requests.put(operation, id, whole, { ifInDoubt, signal: options.signal });
    return this.#write(writing, this.#inOrder(id, options), ask, release);
  }

  #inOrder(id: string, { onSecret, ...options }: SecretOptions): SecretOptions {
    if (onSecret === undefined) return options;
    const inOrder = (issued: SecretToKeep) => this.#handover.run(id, () => onSecret(issued));
    return { ...options, onSecret: inOrder };
  }

  async #write(
    writing: Writing,
    options: SecretOptions,
    ask: () => Promise<AnsweredBody>,
    release?: () => void,
  ): Promise<SubscriptionResult> {
    const { operation, id, given, whole, awaitsSecret, ifInDoubt } = writing;
    const request: AskedFor = { operation, method: id === undefined ? 'POST' : 'PUT', ifInDoubt };
    const { result: subscription, secret } = await keepingSecret(options, this.#connection.clock, {
      subscriptionId: id,
      release,
      ask,
      read: ({ status, body }, isCarriedOut) =>
        inShape(subscriptionShape, body, { ...request, isCarriedOut }, status) as Subscription,
    });
    const warnings = [
      ...warningsOf(given, whole),
      ...notStored(whole, subscription),
      ...(secret === undefined
        ? missingSecret({ subscription, awaitsSecret, secretFile: options.secretFile, now: this.#now })
        : []),
    ];
    this.report(operation, subscription.id, warnings);
    return { subscription, secret, warnings };
  }

  /** Warns if the subscription is signed, but the file has no secret of it that is still needed. */
  missingInFile(subscription: Subscription, secretFile: string | undefined): readonly SubscriptionWarning[] {
    return missingInFile(subscription, secretFile, this.#now);
  }

  get #now(): number {
    return this.#connection.clock.now();
  }

  /** Writes warnings to the log. */
  report(operation: string, subscriptionId: string, warnings: readonly SubscriptionWarning[]): void {
    try {
      for (const { code, message } of warnings) {
        this.#connection.logger.warn({ operation, subscriptionId, code }, message);
      }
    } catch {
      // The warnings are in the result, and so is a secret, perhaps nowhere else.
    }
  }
}

/** Warns if another client wrote at the same moment, or the platform accepted a field but silently dropped it. */
function notStored(whole: WholeSubscription, subscription: Subscription): readonly SubscriptionWarning[] {
  const fields = Object.keys(differenceOf(whole, subscription) ?? {});
  if (fields.length === 0) return [];
  const message =
    `The platform should have stored the subscription as it was sent, but its answer differs in ${fields.join(', ')}. ` +
    'Read it again, and look whether somebody else changes it as well.';
  return [{ code: 'not_stored', message }];
}
