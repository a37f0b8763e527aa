/** Finds what differs between a subscription and what is wanted, or between what was sent and what was stored. */
import type { Subscription } from './subscription.ts';
import type { SubscriptionPatch } from './fields.ts';

/** The fields of the patch that differ from the subscription; undefined when none does. */
export function differenceOf(
  wanted: SubscriptionPatch,
  current: Subscription,
): SubscriptionPatch | undefined {
  const entries = Object.entries(wanted).filter(([name, value]) => !isAsWanted(name, value, current));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function isAsWanted(name: string, wanted: unknown, current: Subscription): boolean {
  const actual = name === 'enable_signed_webhooks' ? current.signing_enabled : current[name];
  return canonical(name, wanted) === canonical(name, actual);
}

/** The same text for equal meanings: lists in any order, all events, header names in any case, unset and empty. */
function canonical(name: string, value: unknown): string {
  if (name === 'headers') {
    const headers = Object.entries(value ?? {}).map(([header, text]) =>
      JSON.stringify([header.toLowerCase(), text]),
    );
    return headers.sort().join();
  }
  if (name === 'events' && isAll(value)) return 'all';
  if (Array.isArray(value)) return [...new Set(value.map((item) => JSON.stringify(item)))].sort().join();
  return value === undefined || value === '' ? '' : JSON.stringify(value);
}

function isAll(events: unknown): boolean {
  return Array.isArray(events) && (events.length === 0 || events.includes('*'));
}
