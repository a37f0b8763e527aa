import { parsePositiveDuration } from './duration.ts';

/**
 * How often something may happen: a whole number, in a length of time of one unit.
 *
 * @example '10/s', '100/m', '500/h'
 */
export type Rate = `${number}/${'s' | 'm' | 'h' | 'd'}`;

/** The milliseconds from one to the next at that rate, or undefined when it isn't one. */
export function parseRate(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined;
  const match = /^([1-9]\d{0,8})\/([smhd])$/.exec(value.trim());
  const length = parsePositiveDuration(`1${match?.[2] ?? ''}`);
  return match && length !== undefined ? length / Number(match[1]) : undefined;
}
