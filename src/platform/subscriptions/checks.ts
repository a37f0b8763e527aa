/** Warns about values of a subscription that are allowed, but probably a mistake. */
import { mayHoldSecretOf } from '../secrets/secret-file.ts';
import type { Subscription } from './subscription.ts';
import { isKnownToSubscriptions, knownEventNames, meantName } from '../../events/names.ts';
import { isAddressLiteral } from '../../kit/addresses.ts';
import type { SubscriptionPatch } from './fields.ts';

/** A probable mistake, in the result and in the log. A warning never stops an operation. */
export interface SubscriptionWarning {
  readonly code:
    | 'url_unreadable'
    | 'url_not_https'
    | 'url_is_address'
    | 'url_is_local'
    | 'event_unknown'
    | 'not_authenticated'
    | 'not_stored'
    | 'secret_missing'
    | 'secret_not_in_file';
  /** A sentence: what was expected, what was found, what to do. */
  readonly message: string;
}

/** Warnings about the given fields. The others were warned about when they were set. `whole` is what is written. */
export function warningsOf(
  given: SubscriptionPatch,
  whole: SubscriptionPatch,
): readonly SubscriptionWarning[] {
  const isAuthenticated =
    whole.enable_signed_webhooks === true || Object.keys(whole.headers ?? {}).length > 0;
  const isAboutIt = given.enable_signed_webhooks !== undefined || given.headers !== undefined;
  return [
    ...(given.url === undefined ? [] : urlWarnings(given.url)),
    ...(given.events ?? []).filter((event) => !isKnownToSubscriptions(event)).map(unknownEvent),
    ...(isAboutIt && !isAuthenticated ? [unauthenticated] : []),
  ];
}

function urlWarnings(text: string): readonly SubscriptionWarning[] {
  const url = URL.parse(text);
  if (!url || url.hostname === '') return [unreadable];
  const warnings: SubscriptionWarning[] = [];
  if (url.protocol !== 'https:') {
    warnings.push({
      code: 'url_not_https',
      message:
        'The url should begin with https://, but is plain http, which the platform does not deliver to.',
    });
  }
  if (isAddressLiteral(url.hostname)) {
    warnings.push({
      code: 'url_is_address',
      message:
        'The url should have a domain name, but has an IP address, which the platform does not deliver to.',
    });
  } else if (isLocalName(url.hostname)) {
    warnings.push({
      code: 'url_is_local',
      message:
        'The url should have a public domain name, but its name is known only on this machine or network. ' +
        'Use a tunnel, or try it with the sandbox.',
    });
  }
  return warnings;
}

function isLocalName(name: string): boolean {
  const plain = name.replace(/\.$/, '');
  return !plain.includes('.') || /\.(localhost|local|internal)$/.test(plain);
}

function unknownEvent(event: string): SubscriptionWarning {
  const meant = meantName(event, knownEventNames);
  return {
    code: 'event_unknown',
    message:
      `The event ${JSON.stringify(event)} should be one of ${knownEventNames.join(', ')} or *, but is none of ` +
      `them, so it may never come.${meant === undefined ? '' : ` Did you mean ${meant}?`}`,
  };
}

const unreadable: SubscriptionWarning = {
  code: 'url_unreadable',
  message: "The url should be a valid address, but can't be parsed, so no delivery will arrive.",
};

const unauthenticated: SubscriptionWarning = {
  code: 'not_authenticated',
  message:
    'A subscription should be signed or have headers of its own, but this one has neither, so a receiver cannot tell ' +
    'its deliveries from forged ones. Set enable_signed_webhooks to true.',
};

/** Warns if the file has no secret for a signed subscription: somebody else got it, or it was lost with an answer. */
export function missingInFile(
  { id, signing_enabled: isSigned }: Subscription,
  file: string | undefined,
  now: number,
): readonly SubscriptionWarning[] {
  if (file === undefined || !isSigned || mayHoldSecretOf(file, id, now)) return [];
  const warning: SubscriptionWarning = {
    code: 'secret_not_in_file',
    message:
      `The file ${file} should hold the subscription's signing secret, but does not, and the platform shows a ` +
      'secret only once. Copy it from where it is stored, or issue a new one with ' +
      `subscriptions.rotateSecret(${JSON.stringify(id)}, { secretFile }).`,
  };
  return [warning];
}

/**
 * Warns that turning signing on issued no secret. Another client may have turned it on at the same moment, received the
 * secret and put it into the same file.
 */
export function notIssued(
  { id }: Subscription,
  file: string | undefined,
  now: number,
): readonly SubscriptionWarning[] {
  const mayBeThere = file !== undefined && mayHoldSecretOf(file, id, now);
  const message =
    'The platform should have returned a signing secret in its answer, but the answer has none. ' +
    (mayBeThere
      ? `The file ${file} has one that may be it, if another client turned signing on at the same moment. If deliveries do ` +
        'not verify with it, rotate the secret with subscriptions.rotateSecret.'
      : 'Rotate the secret with subscriptions.rotateSecret.');
  return [{ code: 'secret_missing', message }];
}
