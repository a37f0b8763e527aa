import { messageOf } from '../../kit/error-text.ts';
import type { Subscription } from '../../platform/subscriptions/subscription.ts';
import { type Finding, finding } from './finding.ts';

/** Lists all subscriptions at the platform, through all pages. */
export type ListSubscriptions = () => AsyncIterable<Subscription>;

/** What is missing when the platform can't be asked. */
const missing =
  'set --platform to the address of the platform, RINGBACK_PLATFORM_KEY to a key for it, and --url';

/** Whether a subscription at the platform delivers here, is active, and is signed as the receiver expects it. */
export async function checkSubscription(
  url: URL | undefined,
  list: ListSubscriptions | undefined,
  { hasSecrets }: { readonly hasSecrets: boolean },
): Promise<readonly Finding[]> {
  if (url === undefined || list === undefined) return [finding('subscription', 'skipped', missing)];
  try {
    const all: Subscription[] = [];
    for await (const subscription of list()) all.push(subscription);
    return judged(all, url, hasSecrets);
  } catch (error) {
    return [finding('subscription', 'wrong', `the platform can't be asked: ${messageOf(error)}`)];
  }
}

function judged(all: readonly Subscription[], url: URL, hasSecrets: boolean): readonly Finding[] {
  const [here, ...others] = all.filter((subscription) => hrefOf(subscription.url) === url.href);
  if (here === undefined) {
    const hint = 'create one, or correct its url.';
    return [
      finding(
        'subscription',
        'wrong',
        `none of ${all.length} subscriptions delivers to ${url.href}: ${hint}`,
      ),
    ];
  }
  return [pointing(here, others), activity(here), signing(here, hasSecrets)];
}

function pointing({ name }: Subscription, others: readonly Subscription[]): Finding {
  if (others.length === 0) return finding('subscription', 'ok', `"${name}" delivers here`);
  const names = [name, ...others.map((other) => other.name)].map((one) => `"${one}"`).join(', ');
  return finding(
    'subscription',
    'warning',
    `${names} all deliver here, each with a secret of its own: one is enough.`,
  );
}

function activity({ active }: Subscription): Finding {
  return active
    ? finding('active', 'ok', 'the subscription is active')
    : finding('active', 'wrong', 'the subscription is paused, so nothing is delivered: set active to true.');
}

function signing({ signing_enabled: isSigned }: Subscription, hasSecrets: boolean): Finding {
  if (isSigned) return finding('signed', 'ok', 'the subscription is signed');
  const hint = 'enable signing, and keep the secret that is returned once.';
  return hasSecrets
    ? finding(
        'signed',
        'wrong',
        `the subscription is not signed, and the receiver refuses what is not: ${hint}`,
      )
    : finding(
        'signed',
        'warning',
        `the subscription is not signed, so that its headers alone tell who delivers: ${hint}`,
      );
}

/** The normalized form of an address, so that spellings of the same address compare as equal. */
function hrefOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).href : undefined;
}
