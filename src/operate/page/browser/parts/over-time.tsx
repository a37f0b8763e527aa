/** Plots over an hour, a day or 30 days, with links from one range to another. */
import type { HandlerHistory, History } from '../api/shapes.ts';
import { minute, useHistory } from '../api/use-history.ts';
import { type PlotProps, type Series, Plot } from './plot.tsx';
import { Empty, Loaded } from './standing.tsx';
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

/** What plots are made of. */
export interface Drawn<Point> {
  readonly points: readonly Point[];
  /** The step in words. */
  readonly span: string;
  /** A line through the values of the points. `none` is the value of a step without one. */
  readonly values: (
    name: string,
    tone: string,
    valueOf: (point: Point) => number | undefined,
    none?: number,
  ) => Series;
}

export type DrawnPlot = Omit<PlotProps, 'since' | 'until'>;

interface OverTimeProps<Found extends HandlerHistory> {
  readonly range: string | undefined;
  /** The view that it is in. */
  readonly path: readonly string[];
  /** Where the API has the numbers. */
  readonly address?: string;
  readonly plotsOf: (drawn: Drawn<Found['points'][number]>) => readonly DrawnPlot[];
}

export function OverTime<Found extends HandlerHistory = History>(props: OverTimeProps<Found>) {
  const { range: asked = '', path, address, plotsOf } = props;
  const range: Range = Object.hasOwn(ranges, asked) ? (asked as Range) : 'hour';
  const stretch = ranges[range];
  const resource = useHistory<Found>(stretch, address);
  return (
    <section aria-labelledby="plots-title">
      <div class="title">
        <h2 id="plots-title">Over time</h2>
        <nav class="choices" aria-label="Range">
          {Object.entries(ranges).map(([name, { label }]) => (
            <a
              key={name}
              href={linkTo(path, { range: name })}
              aria-current={name === range ? 'true' : undefined}
            >
              {label}
            </a>
          ))}
        </nav>
      </div>
      <Loaded resource={resource}>
        {({ points, since, until }) =>
          points.length === 0 ? (
            <Empty title="Nothing was counted in this time.">
              {stretch.resolution === 'minute' ? 'A minute' : 'An hour'} is shown when it is over. Choose
              another range.
            </Empty>
          ) : (
            <div class="plots">
              {plotsOf(drawnOf<Found['points'][number]>(points, since, until, stretch)).map((plot) => (
                <Plot key={plot.title} since={since} until={until} {...plot} />
              ))}
            </div>
          )
        }
      </Loaded>
    </section>
  );
}

function drawnOf<Point extends { readonly at: string }>(
  points: readonly Point[],
  since: number,
  until: number,
  { step, span }: (typeof ranges)[Range],
): Drawn<Point> {
  const byStart = new Map(points.map((point) => [Date.parse(point.at), point]));
  const steps = Array.from({ length: (until - since) / step }, (_, place) =>
    byStart.get(since + place * step),
  );
  return {
    points,
    span,
    values: (name, tone, valueOf, none) => ({
      name,
      tone,
      values: steps.map((point) => (point && valueOf(point)) ?? none),
    }),
  };
}

/** The lines of counts: where nothing was counted, they are at zero. */
export function countPlot<Point>(
  title: string,
  { span, values }: Drawn<Point>,
  lines: readonly (readonly [name: string, tone: string, countOf: (point: Point) => number])[],
): DrawnPlot {
  return {
    title,
    unit: `in ${span}`,
    measure: 'counts',
    series: lines.map(([name, tone, countOf]) => values(name, tone, countOf, 0)),
  };
}

/** The median and the slowest hundredth of durations. */
export function durationPlot<Point>(
  title: string,
  { span, values }: Drawn<Point>,
  p50: (point: Point) => number | undefined,
  p99: (point: Point) => number | undefined,
): DrawnPlot {
  return {
    title,
    unit: `of ${span}`,
    measure: 'durations',
    series: [values('p50', 'good', p50), values('p99', 'warn', p99)],
  };
}

/** How the attempts of all handlers, or of one, have ended, and how long they took. */
export function attemptPlots(
  drawn: Drawn<HandlerHistory['points'][number]>,
): readonly [ended: DrawnPlot, took: DrawnPlot] {
  const ended = countPlot('Attempts', drawn, [
    ['done', 'good', (point) => point.done],
    ['retried', 'warn', (point) => point.retried],
    ['dead', 'bad', (point) => point.dead],
  ]);
  const took = durationPlot(
    'Time of an attempt',
    drawn,
    (point) => point.handlerP50,
    (point) => point.handlerP99,
  );
  return [ended, took];
}
