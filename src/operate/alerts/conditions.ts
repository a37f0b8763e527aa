/** The conditions of alerts, and their thresholds. */
import { inWords } from '../../kit/duration.ts';
import type { AlertName } from '../../receiver/alert-options.ts';
import { type Condition, type Facts, eased, maxCounted } from './facts.ts';
import { failures } from './failures.ts';
import { longestPause, sinceLastDelivery } from './silence.ts';

/** From where on each condition holds; false for never. Times are in milliseconds, sizes in bytes. */
export interface Thresholds {
  readonly deadLetters: number | false;
  readonly failedAttempts: number | false;
  readonly oldestWaiting: number | false;
  readonly noDeliveries: number | 'unusual' | false;
  readonly freeDisk: number | false;
}

/** The conditions that hold. */
export function conditionsOf(facts: Facts, thresholds: Thresholds): readonly Condition[] {
  return [
    deadLetters(facts, thresholds),
    ...failures(facts, thresholds.failedAttempts),
    oldestWaiting(facts, thresholds),
    secretSuspected(facts),
    noDeliveries(facts, thresholds),
    drift(facts),
    disk(facts, thresholds),
  ].filter((condition) => condition !== undefined);
}

/**
 * The alerts that this process can't judge: another process may know more, or the history doesn't reach back to the
 * last delivery or to a usual week before it.
 */
export function unknownIn(facts: Facts, { noDeliveries: from }: Thresholds): readonly AlertName[] {
  const { isSecretSuspected, hours, now, isClockTrusted, freeDisk } = facts;
  const quiet = sinceLastDelivery(facts, 'hour');
  const isUsualUnknown = from === 'unusual' && longestPause(hours, now) === undefined;
  const isSilent =
    from !== false && (!isClockTrusted || quiet === undefined || (isUsualUnknown && quiet >= hour));
  return [
    ...(isSilent ? (['no_deliveries'] as const) : []),
    ...(isSecretSuspected === undefined ? (['secret_suspected'] as const) : []),
    ...(freeDisk === undefined ? (['disk'] as const) : []),
  ];
}

type Maybe = Condition | undefined;

/** How many handlers a message names. */
const maxNamed = 3;

function deadLetters({ deadRuns }: Facts, { deadLetters: from }: Thresholds): Maybe {
  const total = deadRuns.reduce((sum, { count }) => sum + count, 0);
  if (from === false || total < from) return undefined;
  const handlers = handlersOf(deadRuns);
  const max = maxCounted(from);
  const count = total >= max ? `${max} or more` : String(total);
  const message =
    total === 1
      ? `1 run of ${handlers} is a dead letter: it is not retried.`
      : `${count} runs of ${handlers} are dead letters: they are not retried.`;
  return { name: 'dead_letters', subject: '', message };
}

/** Those with the most first. */
function handlersOf(deadRuns: Facts['deadRuns']): string {
  const named = deadRuns.slice(0, maxNamed).map(({ handler }) => handler);
  const more = deadRuns.length - named.length;
  return `${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}

function oldestWaiting(facts: Facts, { oldestWaiting: from }: Thresholds): Maybe {
  const { backlog, now } = facts;
  const waited = backlog.oldest === undefined ? 0 : now - backlog.oldest;
  if (from === false || backlog.waiting === 0 || waited < from * eased(facts, 'oldest_waiting'))
    return undefined;
  const message = `The oldest of ${backlog.waiting} waiting events and runs has waited for ${inWords(waited)}.`;
  return { name: 'oldest_waiting', subject: '', message };
}

function secretSuspected({ isSecretSuspected }: Facts): Maybe {
  if (isSecretSuspected !== true) return undefined;
  const message =
    'Deliveries that look genuine no longer verify, and are kept in quarantine: was the secret rotated?';
  return { name: 'secret_suspected', subject: '', message };
}

function noDeliveries(facts: Facts, { noDeliveries: from }: Thresholds): Maybe {
  const { hours, now, isClockTrusted } = facts;
  if (!isClockTrusted) return undefined;
  const quiet = sinceLastDelivery(facts, from === 'unusual' ? 'hour' : 'minute');
  const usual = from === 'unusual' ? longestPause(hours, now) : undefined;
  const limit = from === 'unusual' ? unusualFrom(usual) : from;
  if (quiet === undefined || limit === undefined || limit === false || quiet < limit) return undefined;
  const message = `No delivery has been accepted for ${inWords(quiet)}${comparedTo(usual)}: is the subscription still active?`;
  return { name: 'no_deliveries', subject: '', message };
}

const hour = 3_600_000;

/** The extra hour is for a usual pause of 0, when a delivery comes in every hour of the clock. */
function unusualFrom(usual: number | undefined): number | undefined {
  return usual === undefined ? undefined : usual * 1.5 + hour;
}

function comparedTo(usual: number | undefined): string {
  if (usual === undefined) return '';
  if (usual === 0) return ', although before that there was at least one every hour';
  return `, longer than ever in the two weeks before (${inWords(usual)})`;
}

function drift({ newDrift }: Facts): Maybe {
  if (newDrift === 0) return undefined;
  const message = `${newDrift} new ${newDrift === 1 ? 'difference' : 'differences'} from the platform's documentation in the last day.`;
  return { name: 'drift', subject: '', message };
}

function disk({ freeDisk }: Facts, { freeDisk: from }: Thresholds): Maybe {
  if (from === false || freeDisk === undefined || freeDisk >= from) return undefined;
  const message = `The disk of the inbox has only ${Math.floor(freeDisk / 1024 ** 2)} MB left.`;
  return { name: 'disk', subject: '', message };
}
