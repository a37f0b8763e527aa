/** Numbers, times and durations for display. */
import { presentTime } from '../api/present.ts';

const day = { month: 'short', day: 'numeric' } as const;
const minute = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
const second = { ...minute, second: '2-digit' } as const;
const dayAndTime = datedBy(second);
const dayAndMinute = datedBy(minute);
const utcMinute = new Intl.DateTimeFormat(undefined, { ...minute, timeZone: 'UTC' });
const utcDayAndMinute = new Intl.DateTimeFormat(undefined, { ...day, ...minute, timeZone: 'UTC' });
const onlyDay = new Intl.DateTimeFormat(undefined, day);
const onlyMinute = new Intl.DateTimeFormat(undefined, minute);
const clock = new Intl.DateTimeFormat(undefined, second);
const numbers = new Intl.NumberFormat();
const shortNumbers = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 });

/** Writes the day and the time of day, and the year if it isn't the present one: audit entries are kept for a year. */
function datedBy(clockTime: Intl.DateTimeFormatOptions): (date: Date) => string {
  const short = new Intl.DateTimeFormat(undefined, { ...day, ...clockTime });
  const long = new Intl.DateTimeFormat(undefined, { year: 'numeric', ...day, ...clockTime });
  return (date) => (date.getFullYear() === new Date(presentTime()).getFullYear() ? short : long).format(date);
}

/** A time in the viewer's zone. */
export function localTime(time: string | number): string {
  return dayAndTime(new Date(time));
}

/** The same without seconds. */
export function localMinute(time: string | number): string {
  return dayAndMinute(new Date(time));
}

/** The day in the viewer's zone. */
export function localDay(time: number): string {
  return onlyDay.format(time);
}

/** The time of day in the viewer's zone, without seconds. */
export function minuteOfDay(time: number): string {
  return onlyMinute.format(time);
}

/** The time of day in the viewer's zone. */
export function timeOfDay(time: string | number): string {
  return clock.format(new Date(time));
}

/** The time of day in UTC, to write beside the local one: without the seconds, which are the same. */
export function utcTimeOfDay(time: string | number): string {
  return `${utcMinute.format(new Date(time))} UTC`;
}

/** The same with the day, if that is another in UTC. */
export function utcBeside(time: string | number): string {
  const date = new Date(time);
  const isSameDay = date.getDate() === date.getUTCDate();
  return isSameDay ? utcTimeOfDay(time) : `${utcDayAndMinute.format(date)} UTC`;
}

/** A time in UTC, to compare with logs. */
export function utcTime(time: string | number): string {
  return `${new Date(time).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** An id with its invisible characters escaped, as JavaScript writes them: ids that differ only in these must not look alike. */
export function visible(id: string): string {
  return id.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escaped);
}

/** Text with the characters escaped that force a direction: one without its end would turn round what the page writes after it. */
export function directed(text: string): string {
  return text.replaceAll(/[\u202a-\u202e\u2066-\u2069]/gu, escaped);
}

/**
 * A name before its number. After a letter that is written from right to left, the number would be drawn on the left of
 * the name, where it seems to be that of the name before.
 */
export function numbered(name: string, count: number): string {
  const mark = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/.test(name) ? '\u200e' : '';
  return `${name}${mark}: ${number(count)}`;
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

/** How long ago a time is, or how far ahead. */
export function ago(time: string | number): string {
  const past = presentTime() - new Date(time).getTime();
  if (past <= -1_000) return `in ${duration(-past)}`;
  return past < 1_000 ? 'now' : `${duration(past)} ago`;
}

/** A duration in its two largest units. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`;
  const seconds = milliseconds / 1_000;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const units = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ] as const;
  let rest = Math.round(seconds);
  const first = units.findIndex(([, length]) => rest >= length);
  const parts: string[] = [];
  for (const [unit, length] of units.slice(first, first + 2)) {
    const whole = Math.floor(rest / length);
    if (whole > 0) parts.push(`${whole} ${unit}`);
    rest -= whole * length;
  }
  return parts.join(' ');
}

export function number(value: number): string {
  return numbers.format(value);
}

/** A number for an axis. */
export function shortNumber(value: number): string {
  return shortNumbers.format(value);
}

/** A count with its noun, in singular or plural. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

export function size(bytes: number): string {
  return bytes < 1_024
    ? counted(bytes, 'byte')
    : bytes < 1_048_576
      ? `${(bytes / 1_024).toFixed(1)} KB`
      : `${(bytes / 1_048_576).toFixed(1)} MB`;
}
