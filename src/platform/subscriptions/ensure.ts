import { ensureOne } from '../requests/ensure-one.ts';
import { mayHoldSecretOf } from '../secrets/secret-file.ts';
import { type SubscriptionWarning, warningsOf } from './checks.ts';
import type { SubscriptionPatch, WholeSubscription } from './fields.ts';
import { differenceOf } from './merge.ts';
import type { Subscription } from './subscription.ts';
import type { SubscriptionResult } from './writer.ts';

/** A subscription that should exist. It is identified by its name. Fields that are not given stay as they are. */
export type WantedSubscription = Pick<WholeSubscription, 'name' | 'url'> & Partial<WholeSubscription>;

/** The result of `ensure`. */
export interface EnsuredSubscription extends SubscriptionResult {
  readonly outcome: 'created' | 'updated' | 'unchanged';
}

/** The operations that `ensure` needs. */
interface EnsureParts {
  readonly list: () => AsyncIterable<Subscription>;
  readonly read: (id: string) => Promise<Subscription>;
  readonly create: () => Promise<SubscriptionResult>;
  readonly update: (id: string, patch: SubscriptionPatch) => Promise<SubscriptionResult>;
  /** Writes warnings to the log. */
  readonly report: (subscriptionId: string, warnings: readonly SubscriptionWarning[]) => void;
}

/** Creates the subscription of this name, or changes what differs about it, or does nothing. */
export function ensureSubscription(
  wanted: WantedSubscription,
  secretFile: string | undefined,
  parts: EnsureParts,
): Promise<EnsuredSubscription> {
  return ensureOne<Subscription, EnsuredSubscription>({
    find: () => findByName(wanted.name, parts.list()),
    create: async () => ({ ...(await parts.create()), outcome: 'created' }),
    async bringUp({ id }) {
      const ensured = await bringUp(wanted, await parts.read(id), parts);
      return withWarnings(ensured, missingSecret(ensured, secretFile), parts);
    },
  });
}

async function findByName(
  name: string,
  subscriptions: AsyncIterable<Subscription>,
): Promise<Subscription | undefined> {
  for await (const subscription of subscriptions) {
    if (subscription.name === name) return subscription;
  }
  return undefined;
}

async function bringUp(
  wanted: WantedSubscription,
  current: Subscription,
  parts: EnsureParts,
): Promise<EnsuredSubscription> {
  const patch = differenceOf(wanted, current);
  if (patch !== undefined) return { ...(await parts.update(current.id, patch)), outcome: 'updated' };
  const unchanged = { subscription: current, secret: undefined, warnings: [], outcome: 'unchanged' } as const;
  const { signing_enabled: isSigned, headers = {} } = current;
  return withWarnings(unchanged, warningsOf(wanted, { enable_signed_webhooks: isSigned, headers }), parts);
}

function withWarnings(
  ensured: EnsuredSubscription,
  more: readonly SubscriptionWarning[],
  { report }: EnsureParts,
): EnsuredSubscription {
  report(ensured.subscription.id, more);
  return { ...ensured, warnings: [...ensured.warnings, ...more] };
}

/**
 * Warns if the subscription is signed, but the file has no secret of it. A secret that somebody else got, or that was
 * lost, is not shown again, and without it the receiver would refuse every delivery for no visible reason.
 */
function missingSecret(
  { subscription, secret }: EnsuredSubscription,
  file: string | undefined,
): readonly SubscriptionWarning[] {
  if (file === undefined || secret !== undefined || !subscription.signing_enabled) return [];
  if (mayHoldSecretOf(file, subscription.id)) return [];
  const warning: SubscriptionWarning = {
    code: 'secret_not_in_file',
    message:
      `The file ${file} should hold the signing secret of the subscription, but does not, and the platform shows a ` +
      'secret only once. Copy it from where it is kept, or issue a new one with ' +
      `subscriptions.rotateSecret(${JSON.stringify(subscription.id)}, { secretFile }).`,
  };
  return [warning];
}
