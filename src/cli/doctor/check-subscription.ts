import { isKnownToSubscriptions, knownEventNames, matches, meantName } from '../../events/names.ts';
import { messageOf } from '../../kit/error-text.ts';
import type { Subscription } from '../../platform/subscriptions/subscription.ts';
import { type Finding, ok, skipped, warning, wrong } from './findings.ts';

export type ListSubscriptions = () => AsyncIterable<Subscription>;

export const sourcesOfOptions = { baseUrl: '--platform', apiKey: 'RINGBACK_PLATFORM_KEY' } as const;

/** Whether a subscription delivers here, is active, asks for existing events, and is signed as the receiver expects. */
export async function checkSubscription(
  url: URL | undefined,
  list: ListSubscriptions | undefined,
  { missing, hasSecrets }: { readonly missing: readonly string[]; readonly hasSecrets: boolean },
): Promise<readonly Finding[]> {
  if (url === undefined || list === undefined)
    return [skipped('subscription', `set ${missing.join(', and ')}`)];
  try {
    const all: Subscription[] = [];
    for await (const subscription of list()) all.push(subscription);
    return judged(all, url, hasSecrets);
  } catch (error) {
    const reason = messageOf(error).replaceAll(
      /\b(baseUrl|apiKey)\b/g,
      (option) => sourcesOfOptions[option as keyof typeof sourcesOfOptions],
    );
    return [wrong('subscription', `the platform could not be queried: ${reason}`)];
  }
}

function judged(all: readonly Subscription[], url: URL, hasSecrets: boolean): readonly Finding[] {
  // Active ones first: beside one, a paused subscription does no harm.
  const [here, ...others] = all
    .filter((subscription) => URL.parse(subscription.url)?.href === url.href)
    .toSorted((left, right) => Number(right.active) - Number(left.active));
  if (here === undefined) {
    const hint = 'create one, or correct its url.';
    return [wrong('subscription', `none of ${all.length} subscriptions delivers to ${url.href}: ${hint}`)];
  }
  return [pointing(here, others), activity(here), asking(here), signing(here, hasSecrets)];
}

function pointing({ name }: Subscription, others: readonly Subscription[]): Finding {
  if (others.length === 0) return ok('subscription', `"${name}" delivers here`);
  const names = [name, ...others.map((other) => other.name)].map((one) => `"${one}"`).join(', ');
  return warning('subscription', `${names} all deliver here, each with a secret of its own: one is enough.`);
}

function activity({ active }: Subscription): Finding {
  return active
    ? ok('active', 'the subscription is active')
    : wrong('active', 'the subscription is paused, so nothing is delivered: set active to true.');
}

/** An unknown name may belong to a new event, so only a subscription that can't mean any known event is wrong. */
function asking({ events }: Subscription): Finding {
  const unknown = events.filter((event) => !isKnownToSubscriptions(event));
  if (unknown.length === 0) return ok('events', `the subscription asks for ${askedFor(events)}`);
  const named = unknown.map(withSuggestion).join(', ');
  const meansOne = events.some((event) => knownEventNames.some((known) => matches(event, known)));
  return meansOne
    ? warning('events', `the subscription asks for unknown events, which may never come: ${named}.`)
    : wrong(
        'events',
        `the subscription asks only for unknown events, so nothing may come: ${named}. Correct its events.`,
      );
}

/** An empty list asks for all events, as `*` does (platform document, WebhookSubscription). */
function askedFor(events: readonly string[]): string {
  return events.length === 0 || events.includes('*') ? 'every event' : events.join(', ');
}

function withSuggestion(name: string): string {
  const meant = meantName(name, knownEventNames);
  return meant === undefined ? `"${name}"` : `"${name}" (did you mean ${meant}?)`;
}

function signing({ signing_enabled: isSigned }: Subscription, hasSecrets: boolean): Finding {
  if (isSigned) return ok('signed', 'the subscription is signed');
  const hint = 'enable signing, and store the secret, which is returned only once.';
  return hasSecrets
    ? wrong('signed', `the subscription is not signed, and the receiver refuses unsigned deliveries: ${hint}`)
    : warning('signed', `the subscription is not signed, so only its headers identify the sender: ${hint}`);
}
