import type { Random } from './clock.ts';

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * A length of time: milliseconds as a number, or a number with a unit.
 *
 * @example '90s', '5m', '2h', '30d', 1500
 */
export type Duration = number | `${number}${keyof typeof units}`;

/**
 * The milliseconds of a duration. Undefined if it isn't one: zero is, negative numbers aren't. Fractions, such as of a
 * computed third of a second, are rounded: due times are stored as whole numbers.
 */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? wholeOf(value) : undefined;
  if (typeof value !== 'string') return undefined;
  const match = /^(\d+(?:\.\d+)?) *(ms|s|m|h|d)$/.exec(value.trim());
  if (!match) return undefined;
  return wholeOf(Number(match[1]) * units[match[2] as keyof typeof units]);
}

/** The longest duration, in milliseconds: a hundred years, which still lead from now to a date. */
const maxDuration = 36_500 * units.d;

/** At least one: nothing would end within a deadline of zero. */
function wholeOf(milliseconds: number): number {
  return milliseconds > 0 ? Math.min(Math.max(1, Math.round(milliseconds)), maxDuration) : 0;
}

/** The same for a time above zero, such as the timeout of an attempt. */
export function parsePositiveDuration(value: unknown): number | undefined {
  const milliseconds = parseDuration(value);
  return milliseconds === 0 ? undefined : milliseconds;
}

/** A length of time for people, in the largest unit that gives two or more: `90 s`, `20 min`, `3 h`, `2 days`. */
export function inWords(milliseconds: number): string {
  const steps = [
    { length: 86_400_000, unit: 'days' },
    { length: 3_600_000, unit: 'h' },
    { length: 60_000, unit: 'min' },
  ];
  const step = steps.find(({ length }) => milliseconds >= 2 * length) ?? { length: 1_000, unit: 's' };
  return `${Math.round(milliseconds / step.length)} ${step.unit}`;
}

/**
 * How often something may happen: a whole number per unit of time.
 *
 * @example '10/s', '100/m', '500/h'
 */
export type Rate = `${number}/${'s' | 'm' | 'h' | 'd'}`;

/** The milliseconds from one to the next at a rate. Undefined if it isn't one. */
export function parseRate(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const match = /^([1-9]\d{0,8}) *\/([smhd])$/.exec(value.trim());
  const length = parsePositiveDuration(`1${match?.[2] ?? ''}`);
  return match && length !== undefined ? length / Number(match[1]) : undefined;
}

/** How long to wait between the attempts of a run, or of a request to the platform, in milliseconds. */
export interface Backoff {
  /** The longest wait before the second attempt. */
  readonly base: number;
  /** The factor by which the longest wait grows with each further attempt. */
  readonly factor: number;
  /** The upper bound of the longest wait. */
  readonly cap: number;
}

/**
 * The wait after the given attempt (counted from 1), with full jitter: anywhere between zero and the longest wait, so
 * that runs that failed together are not retried together.
 */
export function backoffAfter(attempt: number, backoff: Backoff, random: Random): number {
  // The power of a late attempt may be infinite, and a base of zero times infinity is NaN.
  const power = Math.min(backoff.factor ** (attempt - 1), Number.MAX_VALUE);
  const maxWait = Math.min(backoff.cap, backoff.base * power);
  return Math.round(random() * maxWait);
}
