/** When something is worth waking somebody: what is looked at, and from where on it counts. */
import type { Backlog, HistoryRow } from '../../store/history-store.ts';
import type { NamedGroup } from '../../store/failure-store.ts';
import { inWords } from '../../kit/duration.ts';
import type { AlertName } from '../../receiver/alert-options.ts';
import { longestPause, sinceLastDelivery } from './silence.ts';

/** From where on each counts; false: never. Times in milliseconds, sizes in bytes. */
export interface Thresholds {
  readonly deadLetters: number | false;
  readonly failedAttempts: number | false;
  readonly oldestWaiting: number | false;
  readonly noDeliveries: number | 'unusual' | false;
  readonly freeDisk: number | false;
}

/** What is looked at, at one moment. */
export interface Facts {
  readonly now: number;
  /** Counted up to `maxCounted`. */
  readonly deadRuns: number;
  readonly backlog: Backlog;
  /** What has happened in the last hour, by minute. */
  readonly minutes: readonly HistoryRow[];
  /** What has happened in the last two weeks, by hour. */
  readonly hours: readonly HistoryRow[];
  /** The groups of failures of the last hour. */
  readonly groups: readonly NamedGroup[];
  /** How many differences from the platform's documents were first seen within the last day. */
  readonly newDrift: number;
  /** Whether genuine deliveries seem to be refused here; undefined if none has come that would show it. */
  readonly isSecretSuspected: boolean | undefined;
  /** How much room the disk of the inbox has, if that is known. */
  readonly freeDisk: number | undefined;
}

/** An alert that is to be raised, if it isn't yet. */
export interface Condition {
  readonly name: AlertName;
  readonly subject: string;
  readonly message: string;
}

/** Beyond this, dead letters are not counted: nobody is woken by the difference. */
export const maxCounted = 1_000;
/** Over how long a handler's attempts are compared, in milliseconds. */
const failingWindow = 15 * 60_000;

/** For how long none of its attempts may have failed for it to be mended, in milliseconds. */
const mendedWindow = 3 * 60_000;

/** What is to be raised. */
export function conditionsOf(facts: Facts, thresholds: Thresholds): readonly Condition[] {
  return [
    deadLetters(facts, thresholds),
    ...failingHandlers(facts, thresholds),
    oldestWaiting(facts, thresholds),
    secretSuspected(facts),
    noDeliveries(facts, thresholds),
    drift(facts),
    disk(facts, thresholds),
  ].filter((condition) => condition !== undefined);
}

/** Those of which nothing can be said here: another process may know more. */
export function unknownIn({ isSecretSuspected, freeDisk }: Facts): readonly AlertName[] {
  return [
    ...(isSecretSuspected === undefined ? (['secret_suspected'] as const) : []),
    ...(freeDisk === undefined ? (['disk'] as const) : []),
  ];
}

type Maybe = Condition | undefined;

function deadLetters({ deadRuns }: Facts, { deadLetters: from }: Thresholds): Maybe {
  if (from === false || deadRuns < from) return undefined;
  const count = deadRuns >= maxCounted ? `${maxCounted} or more` : String(deadRuns);
  const message = `${count} ${deadRuns === 1 ? 'run is a dead letter' : 'runs are dead letters'}: nobody tries them again.`;
  return { name: 'dead_letters', subject: '', message };
}

/** The names under which the history counts failures that are alike. */
export const groupPrefix = 'group:';

/**
 * A handler of which most attempts fail, without those that are muted. One that fails now and then is tried again, and wakes
 * nobody.
 */
function failingHandlers({ minutes, groups, now }: Facts, { failedAttempts: from }: Thresholds): Condition[] {
  if (from === false) return [];
  const counts = sums(minutes.filter(({ at }) => at >= now - failingWindow));
  const lately = sums(minutes.filter(({ at }) => at >= now - mendedWindow));
  return [...counts].flatMap(([name, all]) => {
    if (!name.startsWith('failed:')) return [];
    const handler = name.slice('failed:'.length);
    const alike = groups
      .filter((group) => group.handler === handler)
      .map((group) => ({ ...group, count: counts.get(`${groupPrefix}${group.id}`) ?? 0 }))
      .toSorted((one, other) => other.count - one.count);
    const muted = alike.filter(({ isMuted }) => isMuted).reduce((sum, { count }) => sum + count, 0);
    const [failed, done] = [all - muted, counts.get(`done:${handler}`) ?? 0];
    if (failed < from || failed <= done) return [];
    // It has been mended: nobody waits until what has failed before is forgotten.
    if (!lately.has(name) && lately.has(`done:${handler}`)) return [];
    const most = alike.find(({ isMuted, count }) => !isMuted && count > 1);
    const like = most === undefined ? '' : `, ${most.count} of them alike (${most.cause})`;
    const message = `${failed} of ${failed + done} attempts of ${handler} have failed in the last ${inWords(failingWindow)}${like}.`;
    return [{ name: 'handler_failing', subject: handler, message }];
  });
}

function oldestWaiting({ backlog, now }: Facts, { oldestWaiting: from }: Thresholds): Maybe {
  const waited = backlog.oldest === undefined ? 0 : now - backlog.oldest;
  if (from === false || backlog.waiting === 0 || waited < from) return undefined;
  const message = `The oldest of ${backlog.waiting} events and runs that wait has waited for ${inWords(waited)}.`;
  return { name: 'oldest_waiting', subject: '', message };
}

function secretSuspected({ isSecretSuspected }: Facts): Maybe {
  if (isSecretSuspected !== true) return undefined;
  const message =
    'Deliveries that look genuine no longer verify, and are kept in quarantine: was the secret rotated?';
  return { name: 'secret_suspected', subject: '', message };
}

function noDeliveries({ minutes, hours, now }: Facts, { noDeliveries: from }: Thresholds): Maybe {
  const quiet = sinceLastDelivery(minutes, hours, now);
  const usual = from === 'unusual' ? longestPause(hours, now) : undefined;
  const limit = from === 'unusual' ? usual && Math.max(hour, usual * 1.5 + hour) : from;
  if (quiet === undefined || limit === undefined || limit === false || quiet < limit) return undefined;
  const before = usual === undefined ? '' : `, longer than in the two weeks before (${inWords(usual)})`;
  const message = `No delivery was accepted for ${inWords(quiet)}${before}: is the subscription still there?`;
  return { name: 'no_deliveries', subject: '', message };
}

const hour = 3_600_000;

function drift({ newDrift }: Facts): Maybe {
  if (newDrift === 0) return undefined;
  const message = `${newDrift} new ${newDrift === 1 ? 'difference' : 'differences'} from the platform's documents in the last day.`;
  return { name: 'drift', subject: '', message };
}

function disk({ freeDisk }: Facts, { freeDisk: from }: Thresholds): Maybe {
  if (from === false || freeDisk === undefined || freeDisk >= from) return undefined;
  const message = `The disk of the inbox has ${Math.floor(freeDisk / 1024 ** 2)} MB left.`;
  return { name: 'disk', subject: '', message };
}

function sums(rows: readonly HistoryRow[]): ReadonlyMap<string, number> {
  const all = new Map<string, number>();
  for (const { name, count } of rows) all.set(name, (all.get(name) ?? 0) + count);
  return all;
}
