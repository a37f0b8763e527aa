/** Compares a subscription with the wanted fields, and merges a patch into a PUT's whole, unless that is unsafe. */
import { type RingbackError, ringbackError } from '../../errors/errors.ts';
import { defined } from '../../kit/values.ts';
import { oneLine } from '../requests/platform-error.ts';
import { masked, readOnlyName } from '../requests/shapes.ts';
import {
  type SubscriptionPatch,
  type UnknownFields,
  type WholeSubscription,
  optionalFields,
  subscriptionFields,
} from './fields.ts';
import { type Subscription, subscriptionShape } from './subscription.ts';

type Answered = Readonly<Record<string, unknown>>;

const requestFields = Object.keys(subscriptionFields) as (keyof WholeSubscription)[];
/** The platform's document doesn't show the name of `secret`. */
const knownFields = [...requestFields, ...Object.keys(subscriptionShape.shape), 'secret'];
const listOfScope: ReadonlyMap<string, keyof WholeSubscription> = new Map([
  ['AGENT', 'agent_ids'],
  ['WORKSPACE', 'workspace_ids'],
]);

/** @throws RingbackError `update_unsafe` when writing it back could clear what the patch doesn't ask to clear */
export function wholeWith(
  current: Answered,
  patch: SubscriptionPatch,
  unknownFields: UnknownFields = {},
): WholeSubscription {
  refuseUnknown(current, unknownFields);
  refuseLostScope(current, patch);
  const sentBack = Object.keys(current).filter((name) => unknownFields[name] === 'send-back');
  const whole = {
    ...Object.fromEntries(sentBack.map((name) => [name, current[name]])),
    ...Object.fromEntries(
      requestFields.map((name) => [name, name in patch ? patch[name] : present(current, name)]),
    ),
  };
  return defined(whole) as unknown as WholeSubscription;
}

/** The current value of a field in the form of a request. */
function present(current: Answered, name: keyof WholeSubscription): unknown {
  const answered = name === 'enable_signed_webhooks' ? 'signing_enabled' : name;
  const value = current[answered];
  if (value === undefined || value === null) {
    if (name in optionalFields) return undefined;
    throw unsafe(`the platform's answer has no ${answered}, so it can't be sent back`, named(name));
  }
  const { success, data } = subscriptionFields[name].safeParse(value);
  if (!success)
    throw unsafe(`the platform's answer has ${answered} in a form that can't be sent back`, named(name));
  if (
    name === 'headers' &&
    Object.values(data as WholeSubscription['headers'] & object).some((text) => masked.test(text))
  ) {
    throw unsafe('the platform shows the values of headers masked, so they would be lost', named(name));
  }
  return data;
}

function refuseUnknown(current: Answered, unknownFields: UnknownFields): void {
  const known = new Set([...knownFields, ...Object.keys(unknownFields)]);
  const unknown = Object.keys(current).filter((name) => !known.has(name) && !readOnlyName.test(name));
  if (unknown.length === 0) return;
  throw unsafe(
    `the platform's answer has ${oneLine(unknown.join(', '))}, which this client doesn't know, so the update would clear it`,
    "Decide what to do with it: { unknownFields: { name: 'send-back' } }, or 'leave-out'.",
  );
}

/** Without its list, a restricted subscription would become unrestricted and receive all calls. */
function refuseLostScope(current: Answered, patch: SubscriptionPatch): void {
  const { scope } = current;
  const list = typeof scope === 'string' ? listOfScope.get(scope) : undefined;
  if (list === undefined || (current[list] ?? patch[list] ?? undefined) !== undefined) return;
  throw unsafe(`its scope is ${scope as string}, but the platform's answer has no ${list}`, named(list));
}

function named(field: string): string {
  return `Give ${field} in the patch.`;
}

function unsafe(cause: string, fix: string): RingbackError {
  return ringbackError('update_unsafe', { cause, fix });
}

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

/** The same text for equivalent values: lists in any order, all events, header names in any case, unset and empty. */
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
