/** Warns of a signing secret that nobody may have stored: without it, a receiver refuses every delivery. */
import { mayHoldSecretOf } from '../secrets/secret-file.ts';
import type { SubscriptionWarning } from './checks.ts';
import type { Subscription } from './subscription.ts';

interface Written {
  readonly subscription: Subscription;
  /** Whether signing was turned on, so that the answer should contain a secret. */
  readonly awaitsSecret: boolean;
  readonly secretFile: string | undefined;
  /** The wall clock's time in milliseconds, for expired secrets. */
  readonly now: number;
}

/** Warnings about an answer without a secret: the platform should have issued one, or did so before. */
export function missingSecret({
  subscription,
  awaitsSecret,
  secretFile,
  now,
}: Written): readonly SubscriptionWarning[] {
  return awaitsSecret
    ? [notIssued(subscription, secretFile, now)]
    : missingInFile(subscription, secretFile, now);
}

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

/** Another client may have turned signing on at the same moment, received the secret and put it into the same file. */
function notIssued({ id }: Subscription, file: string | undefined, now: number): SubscriptionWarning {
  const mayBeThere = file !== undefined && mayHoldSecretOf(file, id, now);
  const message =
    'The platform should have returned a signing secret in its answer, but the answer has none. ' +
    (mayBeThere
      ? `The file ${file} has one that may be it, if another client turned signing on at the same moment. If deliveries do ` +
        'not verify with it, rotate the secret with subscriptions.rotateSecret.'
      : 'Rotate the secret with subscriptions.rotateSecret.');
  return { code: 'secret_missing', message };
}
