/** The axes of plots: which values have a line and a label, and which times. */
import { duration, localDay, minuteOfDay, number, shortNumber } from './format.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Each step leads to labels of one unit: of half a minute, the third would be 1 min 30 s. */
const steps = [1, 2, 5, 15].map((count) => count * second);
steps.push(...[1, 2, 5, 15].map((count) => count * minute), hour, 2 * hour, 6 * hour);

/** What values can be: how they are written, also at an axis, and the least rounded step of at least some length. */
export const measures = {
  counts: { format: number, axis: shortNumber, stepOf: decimalStep },
  durations: {
    format: duration,
    axis: duration,
    stepOf: (least: number) =>
      least <= second / 2
        ? decimalStep(least)
        : (steps.find((step) => step >= least) ?? decimalStep(least, day)),
  },
} as const;

export type Measure = keyof typeof measures;

/** 1, 2 or 5 times a power of ten, in some unit. */
function decimalStep(least: number, unit = 1): number {
  if (least <= unit) return unit;
  const power = 10 ** Math.floor(Math.log10(least / unit)) * unit;
  return ([1, 2, 5].find((step) => step * power >= least) ?? 10) * power;
}

/** The values with a line, from zero to the first one that no value exceeds: at most five. */
export function valueTicks(greatest: number, measure: Measure): readonly number[] {
  const step = measures[measure].stepOf(greatest / 4);
  return Array.from({ length: Math.max(1, Math.ceil(greatest / step)) + 1 }, (_, index) => index * step);
}

const timeSteps = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * minute),
  ...[1, 2, 3, 6, 12].map((count) => count * hour),
  ...[1, 2, 5, 10].map((count) => count * day),
];

/** Round times of the viewer's zone, in order and at nearly equal distances: about `most` of them. */
export function timeTicks(since: number, until: number, most: number): readonly number[] {
  const step = timeSteps.find((length) => (until - since) / length <= most) ?? until - since;
  return step < day ? roundTimes(since, until, step) : beginningsOfDays(since, until, step / day);
}

/** Where clocks are put forward or back, round times are missing or come twice: twice also here if there is room. */
function roundTimes(since: number, until: number, step: number): readonly number[] {
  const ticks: number[] = [];
  // The times of all zones differ by quarters of an hour.
  const part = step < 15 * minute ? minute : 15 * minute;
  for (let time = Math.ceil(since / part) * part; time <= until; time += part) {
    const date = new Date(time);
    // In some zones, a day a year has no midnight.
    const isRound = ((date.getHours() * 60 + date.getMinutes()) * minute) % step === 0 || beginsDay(time);
    if (isRound && time - (ticks.at(-1) ?? 0) > step / 2) ticks.push(time);
  }
  return ticks;
}

/** By the calendar: a day of the viewer's zone may have 23 hours or 25. */
function beginningsOfDays(since: number, until: number, days: number): readonly number[] {
  const from = new Date(since);
  const tick = (index: number) =>
    new Date(from.getFullYear(), from.getMonth(), from.getDate() + index * days).getTime();
  const ticks: number[] = [];
  for (let index = 0; tick(index) <= until; index += 1) if (tick(index) >= since) ticks.push(tick(index));
  return ticks;
}

/** The time of day, or the day, where one begins. */
export function timeLabel(time: number): string {
  return beginsDay(time) ? localDay(time) : minuteOfDay(time);
}

function beginsDay(time: number): boolean {
  return new Date(time).getDate() !== new Date(time - 1).getDate();
}
