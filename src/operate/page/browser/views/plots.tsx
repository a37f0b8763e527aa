/** Plots of deliveries, runs and waiting over time. */
import type { HistoryPoint } from '../api/shapes.ts';
import { type Counted, minute, useHistory } from '../api/use-history.ts';
import { duration, number, shortNumber } from '../parts/format.ts';
import { type Series, Plot } from '../parts/plot.tsx';
import { Empty, Loaded } from '../parts/standing.tsx';
import { linkTo } from '../router.ts';

/** `span` is the step in words. */
const ranges = {
  hour: {
    label: 'Last hour',
    length: 60 * minute,
    step: minute,
    resolution: 'minute',
    span: 'a minute',
  },
  day: {
    label: 'Last day',
    length: 1_440 * minute,
    step: 10 * minute,
    resolution: 'minute',
    span: '10 minutes',
  },
  month: {
    label: 'Last 30 days',
    length: 43_200 * minute,
    step: 360 * minute,
    resolution: 'hour',
    span: '6 hours',
  },
} as const;

type Range = keyof typeof ranges;

export function Plots({ range: asked }: { readonly range: string }) {
  const range: Range = Object.hasOwn(ranges, asked) ? (asked as Range) : 'hour';
  const stretch = ranges[range];
  const resource = useHistory(stretch);
  return (
    <section aria-labelledby="plots-title">
      <div class="title">
        <h2 id="plots-title">Over time</h2>
        <nav class="choices" aria-label="Range">
          {Object.entries(ranges).map(([name, { label }]) => (
            <a
              key={name}
              href={linkTo([], { range: name })}
              aria-current={name === range ? 'true' : undefined}
            >
              {label}
            </a>
          ))}
        </nav>
      </div>
      <Loaded resource={resource}>
        {(counted) =>
          counted.points.length === 0 ? (
            <Empty title="Nothing was counted in this time.">
              {stretch.resolution === 'minute' ? 'A minute' : 'An hour'} is shown when it is over. Choose
              another range.
            </Empty>
          ) : (
            <div class="plots">
              {plotsOf(counted, stretch).map((plot) => (
                <Plot key={plot.title} since={counted.since} until={counted.until} {...plot} />
              ))}
            </div>
          )
        }
      </Loaded>
    </section>
  );
}

/** The points of the steps in order; undefined for a step in which nothing was counted. */
function stepsOf({ points, since, until }: Counted, step: number): readonly (HistoryPoint | undefined)[] {
  const byStart = new Map(points.map((point) => [Date.parse(point.at), point]));
  return Array.from({ length: (until - since) / step }, (_, index) => byStart.get(since + index * step));
}

function plotsOf(counted: Counted, { step, span }: (typeof ranges)[Range]) {
  const steps = stepsOf(counted, step);
  /** `none` is the value of a step without one. */
  const values = (
    name: string,
    tone: string,
    valueOf: (point: HistoryPoint) => number | undefined,
    none?: number,
  ): Series => ({ name, tone, values: steps.map((point) => (point && valueOf(point)) ?? none) });
  const sums = (name: string, tone: string, valueOf: (point: HistoryPoint) => number) =>
    values(name, tone, valueOf, 0);
  return [
    {
      title: 'Deliveries',
      unit: `in ${span}`,
      format: number,
      axis: shortNumber,
      series: [
        sums('received', 'text', receivedIn),
        sums('accepted', 'good', (point) => point.accepted),
        sums('duplicate', 'calm', (point) => point.duplicate),
        sums('refused', 'bad', refusedIn),
        sums('quarantined', 'warn', (point) => point.quarantined),
      ],
    },
    {
      title: 'Refused',
      unit: `in ${span}`,
      format: number,
      axis: shortNumber,
      series: refusalsIn(counted.points).map(({ name, countOf }, index) =>
        sums(name, tonesOfCodes[index] ?? 'text', countOf),
      ),
    },
    {
      title: 'Runs',
      unit: `in ${span}`,
      format: number,
      axis: shortNumber,
      series: [
        sums('done', 'good', (point) => point.done),
        sums('retried', 'warn', (point) => point.retried),
        sums('dead', 'bad', (point) => point.dead),
      ],
    },
    {
      title: 'Time to answer',
      unit: `of ${span}`,
      format: duration,
      axis: duration,
      series: [
        values('p50', 'good', (point) => point.answerP50),
        values('p99', 'warn', (point) => point.answerP99),
      ],
    },
    {
      title: 'Time in handlers',
      unit: `of ${span}`,
      format: duration,
      axis: duration,
      series: [
        values('p50', 'good', (point) => point.handlerP50),
        values('p99', 'warn', (point) => point.handlerP99),
      ],
    },
    {
      title: 'Waiting',
      unit: `at most in ${span}`,
      format: number,
      axis: shortNumber,
      // Nothing is recorded while nothing waits.
      series: [values('waiting', 'calm', (point) => point.waiting, 0)],
    },
    {
      title: 'Age of the oldest that waits',
      unit: `at most in ${span}`,
      format: duration,
      axis: duration,
      series: [values('oldest', 'warn', (point) => point.oldestWaiting, 0)],
    },
  ];
}

/** The codes with a line of their own, the most frequent ones: more lines could not be told apart. */
const tonesOfCodes = ['bad', 'calm', 'warn', 'good'] as const;

interface Refusals {
  readonly name: string;
  readonly countOf: (point: HistoryPoint) => number;
}

/** Refusals by code, in the order of the alphabet: in that of frequency, lines would change their colours. */
function refusalsIn(points: readonly HistoryPoint[]): readonly Refusals[] {
  const totals = new Map<string, number>();
  for (const { refused } of points)
    for (const [code, count] of Object.entries(refused)) totals.set(code, (totals.get(code) ?? 0) + count);
  if (totals.size === 0) return [{ name: 'refused', countOf: () => 0 }];
  const byCount = [...totals.keys()]
    .sort()
    .sort((one, other) => (totals.get(other) ?? 0) - (totals.get(one) ?? 0));
  const shown = byCount.slice(0, tonesOfCodes.length).sort();
  const all = shown.map((code) => ({
    name: code,
    countOf: ({ refused }: HistoryPoint) => refused[code] ?? 0,
  }));
  if (byCount.length <= shown.length) return all;
  const countOf = (point: HistoryPoint) =>
    shown.reduce((rest, code) => rest - (point.refused[code] ?? 0), refusedIn(point));
  return [...all, { name: 'other', countOf }];
}

/** All deliveries, however they were answered. */
export function receivedIn(point: HistoryPoint): number {
  return point.accepted + point.duplicate + point.quarantined + refusedIn(point);
}

function refusedIn({ refused }: HistoryPoint): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}
