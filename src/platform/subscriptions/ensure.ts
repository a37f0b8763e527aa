import { PlatformError } from '../requests/platform-error.ts';
import { readSecretFile } from '../secrets/secret-file.ts';
import type { Subscription } from './subscription.ts';
import { type SubscriptionWarning, warningsOf } from './checks.ts';
import { differenceOf } from './difference.ts';
import type { SubscriptionPatch, WholeSubscription } from './fields.ts';
import type { SubscriptionResult } from './writer.ts';

/** A subscription that should exist. It is identified by its name. Fields that are not given stay as they are. */
export type WantedSubscription = Pick<WholeSubscription, 'name' | 'url'> & Partial<WholeSubscription>;

/** The result of `ensure`. */
export interface EnsuredSubscription extends SubscriptionResult {
  readonly outcome: 'created' | 'updated' | 'unchanged';
}

/** The operations that `ensure` needs. */
export interface EnsureParts {
  readonly list: () => AsyncIterable<Subscription>;
  readonly read: (id: string) => Promise<Subscription>;
  readonly create: () => Promise<SubscriptionResult>;
  readonly update: (id: string, patch: SubscriptionPatch) => Promise<SubscriptionResult>;
  /** Writes warnings to the log. */
  readonly tell: (subscriptionId: string, warnings: readonly SubscriptionWarning[]) => void;
}

/** How often to look at most: another client may create the subscription after a look, or delete the one found. */
const mostRounds = 3;

/** Creates the subscription of this name, or changes what differs about it, or does nothing. */
export async function ensureSubscription(
  wanted: WantedSubscription,
  secretFile: string | undefined,
  parts: EnsureParts,
): Promise<EnsuredSubscription> {
  let refusal: unknown;
  for (let round = 1; ; round += 1) {
    const found = await findByName(wanted.name, parts.list());
    // The creation was refused, but not because another client took the name: the platform's error says why.
    if (found === undefined && refusal !== undefined) throw refusal;
    try {
      if (found === undefined) return { ...(await parts.create()), outcome: 'created' };
      const ensured = await bringUp(wanted, await parts.read(found.id), parts);
      return withWarnings(ensured, missingSecret(ensured, secretFile), parts);
    } catch (error) {
      if (round === mostRounds || !mayBeOvertaken(error, found)) throw error;
      refusal = found === undefined ? error : undefined;
    }
  }
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
  { tell }: EnsureParts,
): EnsuredSubscription {
  tell(ensured.subscription.id, more);
  return { ...ensured, warnings: [...ensured.warnings, ...more] };
}

/**
 * Whether another client may have created or deleted the subscription meanwhile. The platform's document doesn't say
 * which status means that a name is taken.
 */
function mayBeOvertaken(error: unknown, found: Subscription | undefined): boolean {
  if (!(error instanceof PlatformError) || error.status === undefined) return false;
  return found === undefined ? [400, 409, 422].includes(error.status) : error.status === 404;
}

/**
 * Warns if the file has no secret, but the subscription is signed. A secret that somebody else got, or that was lost,
 * is not shown again, and without it the receiver would refuse every delivery for no visible reason.
 */
function missingSecret(
  { subscription, secret }: EnsuredSubscription,
  file: string | undefined,
): readonly SubscriptionWarning[] {
  if (file === undefined || secret !== undefined || !subscription.signing_enabled || holdsSecret(file))
    return [];
  const warning: SubscriptionWarning = {
    code: 'secret_not_in_file',
    message:
      `The file ${file} should hold the signing secret of the subscription, but holds none, and the platform shows a secret ` +
      'only once. Copy it from where it is kept, or issue a new one with subscriptions.rotateSecret.',
  };
  return [warning];
}

function holdsSecret(file: string): boolean {
  try {
    readSecretFile(file);
    return true;
  } catch {
    return false;
  }
}
