/** Plots of deliveries, attempts and waiting over time. */
import type { HistoryPoint } from '../../api/shapes.ts';
import {
  type Drawn,
  type DrawnPlot,
  OverTime,
  attemptPlots,
  countPlot,
  durationPlot,
} from '../../parts/over-time.tsx';

export function Plots({ range }: { readonly range: string | undefined }) {
  return <OverTime range={range} path={[]} plotsOf={plotsOf} />;
}

function plotsOf(drawn: Drawn<HistoryPoint>): readonly DrawnPlot[] {
  const { points, span, values } = drawn;
  const unit = `at most in ${span}`;
  const refusals = refusalsIn(points);
  const [attempts, attemptTimes] = attemptPlots(drawn);
  return [
    countPlot('Deliveries', drawn, [
      ['received', 'text', receivedIn],
      ['accepted', 'good', (point) => point.accepted],
      ['duplicate', 'calm', (point) => point.duplicate],
      ['refused', 'bad', refusedIn],
      ['quarantined', 'warn', (point) => point.quarantined],
    ]),
    // Without refusals, the first plot says so.
    ...(refusals.length > 0 ? [countPlot('Refused', drawn, refusals)] : []),
    attempts,
    durationPlot(
      'Time to answer',
      drawn,
      (point) => point.answerP50,
      (point) => point.answerP99,
    ),
    attemptTimes,
    // Nothing is recorded while nothing waits.
    {
      title: 'Waiting',
      unit,
      measure: 'counts',
      series: [values('waiting', 'calm', (point) => point.waiting, 0)],
    },
    {
      title: 'Age of the oldest that waits',
      unit,
      measure: 'durations',
      series: [values('oldest', 'warn', (point) => point.oldestWaiting, 0)],
    },
  ];
}

/** The codes with a line of their own, the most frequent ones: more lines could not be told apart. */
const tonesOfCodes = ['bad', 'calm', 'warn', 'good'] as const;

type Refusals = readonly [name: string, tone: string, countOf: (point: HistoryPoint) => number];

/** Refusals by code, in the order of the alphabet: in that of frequency, lines would change their colours. */
function refusalsIn(points: readonly HistoryPoint[]): readonly Refusals[] {
  const totals = new Map<string, number>();
  for (const { refused } of points)
    for (const [code, count] of Object.entries(refused)) totals.set(code, (totals.get(code) ?? 0) + count);
  const byCount = [...totals.keys()]
    .sort()
    .sort((one, other) => (totals.get(other) ?? 0) - (totals.get(one) ?? 0));
  const shown = byCount.slice(0, tonesOfCodes.length).sort();
  const all = shown.map((code, index): Refusals => [
    code,
    tonesOfCodes[index] ?? 'text',
    ({ refused }) => refused[code] ?? 0,
  ]);
  if (byCount.length <= shown.length) return all;
  const countOf = (point: HistoryPoint) =>
    shown.reduce((rest, code) => rest - (point.refused[code] ?? 0), refusedIn(point));
  return [...all, ['other', 'text', countOf]];
}

/** All deliveries, however they were answered. */
export function receivedIn(point: HistoryPoint): number {
  return point.accepted + point.duplicate + point.quarantined + refusedIn(point);
}

function refusedIn({ refused }: HistoryPoint): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}
