import { ensureOne } from '../requests/ensure-one.ts';
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
  /** Warns if the subscription is signed, but its secret is not where it should be. */
  readonly missingInFile: (subscription: Subscription) => readonly SubscriptionWarning[];
  /** Writes warnings to the log. */
  readonly report: (subscriptionId: string, warnings: readonly SubscriptionWarning[]) => void;
}

/** Creates the subscription of this name, or changes what differs about it, or does nothing. */
export function ensureSubscription(
  wanted: WantedSubscription,
  parts: EnsureParts,
): Promise<EnsuredSubscription> {
  return ensureOne<Subscription, EnsuredSubscription>({
    find: () => findByName(wanted.name, parts.list()),
    create: async () => ({ ...(await parts.create()), outcome: 'created' }),
    bringUp: async ({ id }) => bringUp(wanted, await parts.read(id), parts),
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
  const { signing_enabled: isSigned, headers = {} } = current;
  const warnings = [
    ...warningsOf(wanted, { enable_signed_webhooks: isSigned, headers }),
    ...parts.missingInFile(current),
  ];
  parts.report(current.id, warnings);
  return { subscription: current, secret: undefined, warnings, outcome: 'unchanged' };
}
