import { PlatformError } from '../requests/platform-error.ts';
import { readSecretFile } from '../secrets/secret-file.ts';
import type { Subscription } from './subscription.ts';
import { type SubscriptionWarning, warningsOf } from './checks.ts';
import { differenceOf } from './difference.ts';
import type { SubscriptionPatch, WholeSubscription } from './fields.ts';
import type { SubscriptionResult } from './writer.ts';

/** A subscription that there shall be. Its name tells which one is meant; what is not given is left as it is. */
export type WantedSubscription = Pick<WholeSubscription, 'name' | 'url'> & Partial<WholeSubscription>;

/** What `ensure` has come to. */
export interface EnsuredSubscription extends SubscriptionResult {
  readonly outcome: 'created' | 'updated' | 'unchanged';
}

/** What `ensure` works with. */
export interface EnsureParts {
  readonly list: () => AsyncIterable<Subscription>;
  readonly read: (id: string) => Promise<Subscription>;
  readonly create: () => Promise<SubscriptionResult>;
  readonly update: (id: string, patch: SubscriptionPatch) => Promise<SubscriptionResult>;
  /** Writes warnings to the log. */
  readonly tell: (subscriptionId: string, warnings: readonly SubscriptionWarning[]) => void;
}

/** Somebody else may create it after we have looked, or delete it after we have found it: then we look again. */
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
    // Refused, and not because the name was taken meanwhile: the platform's own words say why.
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

/** Which status says that a name is taken is not in the platform's document. */
function mayBeOvertaken(error: unknown, found: Subscription | undefined): boolean {
  if (!(error instanceof PlatformError) || error.status === undefined) return false;
  return found === undefined ? [400, 409, 422].includes(error.status) : error.status === 404;
}

/** A secret that was issued to somebody else, or was lost, can't be had again: without a word, every delivery is refused. */
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
