/** A small plot of up to five series over time, which differ in their dashes, not only in colour. */
import { useId, useState } from 'preact/hooks';
import { localMinute, utcBeside } from './format.ts';
import { type Measure, measures, timeLabel, timeTicks, valueTicks } from './plot-axes.ts';
import { useWidth } from './use-width.ts';

export interface Series {
  readonly name: string;
  /** One of the page's colours. */
  readonly tone: string;
  /** Of steps of equal length; undefined where there is no value. */
  readonly values: readonly (number | undefined)[];
}

export interface PlotProps {
  readonly title: string;
  /** To what each value belongs, such as "in a minute". */
  readonly unit: string;
  readonly since: number;
  readonly until: number;
  readonly measure: Measure;
  readonly series: readonly Series[];
}

const height = 146;
const [top, bottom] = [8, height - 20];
/** The same in all plots, so that their times are above each other. */
const left = 46;
/** Half of the last label of time may be beyond it. */
const marginRight = 8;
/** The room for a label of time. */
const labelWidth = 46;

export function Plot(props: PlotProps) {
  const { title, unit, since, until, measure, series } = props;
  const id = useId();
  return (
    <figure class="plot">
      <figcaption>
        <span id={`${id}-title`}>
          <strong>{title}</strong> <span class="faint">{unit}</span>
        </span>
        <span class="legend" id={`${id}-legend`}>
          {series.map(({ name, tone, values }, index) => (
            <span key={name}>
              <Swatch tone={tone} index={index} />
              {name} <b>{summary(values, measures[measure].format)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <Lines {...props} id={id} />
      <div class="axis">
        <End at={since} />
        <End at={until} />
      </div>
    </figure>
  );
}

/** The lines. Pointer and arrow keys choose a step, whose values are then shown. */
function Lines({ id, since, until, measure, series }: PlotProps & { readonly id: string }) {
  const [ruler, width] = useWidth();
  const [chosen, choose] = useState<number>();
  const last = (series[0]?.values.length ?? 1) - 1;
  const index = Math.min(chosen ?? last, last);
  const { format, axis } = measures[measure];
  const ticks = valueTicks(
    Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0))),
    measure,
  );
  const right = width - marginRight;
  const xOf = (part: number) => left + part * (right - left);
  const yOf = (value: number) => bottom - (value / (ticks.at(-1) ?? 1)) * (bottom - top);
  const xOfStep = (step: number) => xOf((step + 0.5) / (last + 1));
  const startOf = (step: number) => since + (step / (last + 1)) * (until - since);

  const said = series.map(({ name, values }) => `${name} ${written(values[index], format)}`);
  const point = ({ clientX, currentTarget }: PointerEvent & { readonly currentTarget: HTMLElement }) => {
    const box = currentTarget.getBoundingClientRect();
    const part = (((clientX - box.left) / box.width) * width - left) / (right - left);
    choose(Math.max(0, Math.min(last, Math.floor(part * (last + 1)))));
  };
  return (
    <>
      <div ref={ruler} />
      <div
        class="lines"
        role="slider"
        tabIndex={0}
        aria-labelledby={`${id}-title`}
        aria-describedby={`${id}-legend`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={index}
        aria-valuetext={`${timeOf(startOf(index))}: ${said.join(', ')}`}
        onPointerDown={point}
        onPointerMove={point}
        onPointerLeave={() => choose(undefined)}
        onFocus={() => choose((now) => now ?? last)}
        onBlur={() => choose(undefined)}
        onKeyDown={(event) => {
          const next = nextAt(event.key, index, last);
          if (next === undefined) return;
          event.preventDefault();
          choose(next === 'none' ? undefined : next);
        }}
      >
        <svg viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          {ticks.map((value) => (
            <g key={value}>
              <line class="grid" x1={left} x2={right} y1={yOf(value)} y2={yOf(value)} />
              <text x={left - 6} y={yOf(value) + 4} text-anchor="end">
                {value === 0 ? '0' : axis(value)}
              </text>
            </g>
          ))}
          {timeTicks(since, until, (right - left) / labelWidth).map((time) => {
            const x = xOf((time - since) / (until - since));
            return (
              <g key={time}>
                <line class="grid" x1={x} x2={x} y1={bottom} y2={bottom + 4} />
                <text x={x} y={height - 4} text-anchor="middle">
                  {timeLabel(time)}
                </text>
              </g>
            );
          })}
          {series.map(({ name, tone, values }, place) => (
            <path key={name} class={`line tone-${tone} dash-${place}`} d={lineOf(values, xOfStep, yOf)} />
          ))}
          {chosen !== undefined && (
            <line class="pointed" x1={xOfStep(index)} x2={xOfStep(index)} y1={top} y2={bottom} />
          )}
          {series.map(({ name, tone, values }) =>
            values.map((value, step) =>
              value !== undefined && (isAlone(values, step) || (chosen !== undefined && step === index)) ? (
                <circle
                  key={`${name} ${step}`}
                  class={`dot tone-${tone}`}
                  cx={xOfStep(step)}
                  cy={yOf(value)}
                  r={step === chosen ? 3 : 2.2}
                />
              ) : null,
            ),
          )}
        </svg>
        {chosen !== undefined && (
          <div class={index < last / 2 ? 'readout at-end' : 'readout'}>
            <div>{timeOf(startOf(index))}</div>
            {series.map(({ name, tone, values }, place) => (
              <div key={name}>
                <Swatch tone={tone} index={place} />
                {name} <b>{written(values[index], format)}</b>
              </div>
            ))}
          </div>
        )}
      </div>
    </>
  );
}

function Swatch({ tone, index }: { readonly tone: string; readonly index: number }) {
  return (
    <svg class={`swatch tone-${tone}`} viewBox="0 0 22 4" aria-hidden="true">
      <path class={`line dash-${index}`} d="M1 2h20" />
    </svg>
  );
}

/** An end of the axis of time. */
function End({ at }: { readonly at: number }) {
  return (
    <span>
      <span class="whole">{localMinute(at)}</span> <span class="whole">({utcBeside(at)})</span>
    </span>
  );
}

/** The step that a key leads to; undefined for a key that does nothing here. */
function nextAt(key: string, index: number, last: number): number | 'none' | undefined {
  if (key === 'Escape') return 'none';
  if (key === 'Home') return 0;
  if (key === 'End') return last;
  if (key === 'ArrowLeft' || key === 'ArrowDown') return Math.max(0, index - 1);
  if (key === 'ArrowRight' || key === 'ArrowUp') return Math.min(last, index + 1);
  return undefined;
}

function lineOf(
  values: Series['values'],
  xOfStep: (step: number) => number,
  yOf: (value: number) => number,
): string {
  return values
    .map((value, step) => {
      if (value === undefined) return '';
      const begin = step === 0 || values[step - 1] === undefined ? 'M' : 'L';
      return `${begin}${xOfStep(step).toFixed(1)} ${yOf(value).toFixed(1)}`;
    })
    .join('');
}

/** Whether a value has no neighbour, so that no line leads to it. */
function isAlone(values: Series['values'], step: number): boolean {
  return values[step - 1] === undefined && values[step + 1] === undefined;
}

function timeOf(time: number): string {
  return `${localMinute(time)} (${utcBeside(time)})`;
}

function written(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? '–' : format(value);
}

/** The last and the largest value, for viewers who can't see the line. */
function summary(values: Series['values'], format: (value: number) => string): string {
  const known = values.filter((value) => value !== undefined);
  if (known.length === 0) return '–';
  return `last ${written(values.at(-1), format)}, at most ${format(Math.max(...known))}`;
}
