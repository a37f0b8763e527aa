import { z } from 'zod';
import { isObject } from '../kit/values.ts';
import { type Size, parseSize } from '../kit/bytes.ts';
import { type Duration, parseDuration } from '../kit/duration.ts';
import type { Secrets } from '../signature/secrets.ts';
import { type SignOptions, sign } from '../signature/sign-and-verify.ts';
import { count, durationWords, orFalse, sizeWords, timeSpan } from './option-values.ts';
import { sensibleFrom } from './short-durations.ts';

/** What alerts are about, in the order in which they are reported. */
export const alertNames = [
  'dead_letters',
  'handler_failing',
  'failures_alike',
  'oldest_waiting',
  'secret_suspected',
  'no_deliveries',
  'drift',
  'disk',
] as const;

/** What an alert is about. */
export type AlertName = (typeof alertNames)[number];

/** An alert, as `alerts.notify` gets it. */
export interface Alert {
  readonly name: AlertName;
  /** The handler of `handler_failing`, the id of the group of `failures_alike`, else undefined. */
  readonly subject: string | undefined;
  /** `'raised'` when it is new, `'reminded'` when it is still there after `alerts.remind`, `'over'` at its end. */
  readonly state: 'raised' | 'reminded' | 'over';
  /** When it was raised. */
  readonly since: Date;
  /** The state of things in a sentence, without anything of an event. */
  readonly message: string;
}

/** The address of a webhook. */
export interface AlertWebhook {
  readonly url: string;
  /**
   * Signs it according to Standard Webhooks: `whsec_` and base64. If it is left out, the webhook is not signed;
   * `undefined` is refused.
   */
  readonly secret?: Secrets | undefined;
}

/** A function, or the address of a webhook. */
export type Notify = ((alert: Alert) => unknown) | string | AlertWebhook;

/** When alerts are raised, and where they are sent. `false` instead of a threshold: never. */
export interface AlertOptions {
  /** A function, or the webhook to call. @default none: alerts are only logged */
  notify?: Notify | undefined;
  /** The number of dead letters that raises an alert. @default 1 */
  deadLetters?: number | false | undefined;
  /**
   * The number of a handler's failed attempts within 15 minutes that raises an alert, if more failed than succeeded,
   * or if a tenth or more failed in the same way.
   * @default 10
   */
  failedAttempts?: number | false | undefined;
  /** How long the oldest waiting event or run may wait. @default '15m' */
  oldestWaiting?: Duration | false | undefined;
  /**
   * How long there may be no delivery. `'unusual'`: 1.5 times the longest pause of the last two weeks plus an hour;
   * known after a week.
   * @default 'unusual'
   */
  noDeliveries?: Duration | 'unusual' | false | undefined;
  /** The minimum free space on the disk of a SQLite file. @default '1gb' */
  freeDisk?: Size | false | undefined;
  /** How long until an alert that is still raised is sent again. @default '1d' */
  remind?: Duration | undefined;
}

/** The scheme in which webhooks of alerts are signed. */
export const alertScheme = 'standard-webhooks-suffix-base64' satisfies SignOptions['scheme'];

/** Errors about `notify` never quote it: many addresses of webhooks contain credentials. */
const notify = z.unknown().transform((value, context) => {
  const problem = problemOf(value);
  if (problem === undefined) return value as Notify;
  context.addIssue({ code: 'custom', ...problem });
  return z.NEVER;
});

interface NotifyProblem {
  readonly message: string;
  readonly path?: string[];
  readonly params?: { readonly found: string | undefined };
}

/**
 * What should have been given, and in which field of a webhook: often it is a variable of the environment that isn't
 * set.
 */
function problemOf(value: unknown): NotifyProblem | undefined {
  if (typeof value === 'function' || isAddress(value)) return undefined;
  if (!isObject(value) || Object.keys(value).some((key) => key !== 'url' && key !== 'secret')) {
    const message = 'a function, an http or https address, or { url, secret }';
    return { message, params: { found: wrongAddress(value) } };
  }
  const { url } = value;
  if (!isAddress(url))
    return { message: 'an http or https address', path: ['url'], params: { found: wrongAddress(url) } };
  // If the secret's environment variable isn't set, the webhook must not go out unsigned.
  if (!('secret' in value) || canSign(value['secret'] as Secrets)) return undefined;
  return { message: 'whsec_ and base64, or left out', path: ['secret'] };
}

function isAddress(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  // `fetch` refuses credentials in front of the host.
  return ['http:', 'https:'].includes(protocol) && username + password === '';
}

/** What is wrong with a text that is not an address, without quoting it. */
function wrongAddress(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  if (!/^https?:/i.test(value)) return 'text that does not begin with http:// or https://';
  return URL.canParse(value) ? 'one with a user name or password' : "text that can't be read as an address";
}

function canSign(secrets: Secrets): boolean {
  try {
    sign('', { secrets, scheme: alertScheme, traceId: 'any' });
    return true;
  } catch {
    return false;
  }
}

const second = 1_000;
const minute = 60_000;
const day = 86_400_000;

const countOrFalse = orFalse('a whole number of 1 or more', (value) => count.safeParse(value).data);

/** The options of alerts, with their defaults. */
export const alertsSchema = z.strictObject({
  notify: notify.optional(),
  deadLetters: countOrFalse.default(1),
  failedAttempts: countOrFalse.default(10),
  oldestWaiting: sensibleFrom(second, orFalse(durationWords, parseDuration)).default(15 * minute),
  noDeliveries: sensibleFrom(
    second,
    orFalse(`'unusual', ${durationWords}`, (value) => (value === 'unusual' ? value : parseDuration(value))),
  ).default('unusual'),
  freeDisk: orFalse(sizeWords, parseSize).default(1024 ** 3),
  remind: timeSpan.default(day),
});
