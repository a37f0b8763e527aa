/** A small plot of up to five series over time, which differ in their dashes, not only in colour. */
import { useId } from 'preact/hooks';
import { localMinute, utcBeside } from './format.ts';

export interface Series {
  readonly name: string;
  /** One of the page's colours. */
  readonly tone: string;
  /** At equal distances; undefined where there is no value. */
  readonly values: readonly (number | undefined)[];
}

interface PlotProps {
  readonly title: string;
  /** To what each value belongs, such as "in a minute". */
  readonly unit: string;
  readonly since: number;
  readonly until: number;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly axis: (value: number) => string;
}

const width = 480;
const height = 120;

export function Plot({ title, unit, since, until, series, format, axis }: PlotProps) {
  const id = useId();
  const known = series.flatMap(({ values }) => values.filter((value) => value !== undefined));
  const greatest = niceTop(Math.max(0, ...known));
  return (
    <figure class="plot">
      <figcaption id={id}>
        <span>
          <strong>{title}</strong> <span class="faint">{unit}</span>
        </span>
        <span class="legend">
          {series.map(({ name, tone, values }, index) => (
            <span key={name} class={`tone-${tone}`}>
              <svg class="swatch" viewBox="0 0 22 4" aria-hidden="true">
                <path class={`line dash-${index}`} d="M1 2h20" />
              </svg>
              {name} <b>{summary(values, format)}</b>
            </span>
          ))}
        </span>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={id} preserveAspectRatio="none">
        {[0, 0.5, 1].map((part) => (
          <line key={part} class="grid" x1="0" x2={width} y1={yOf(part)} y2={yOf(part)} />
        ))}
        {series.map(({ name, tone, values }, index) => (
          <path key={name} class={`line tone-${tone} dash-${index}`} d={lineOf(values, greatest)} />
        ))}
      </svg>
      <div class="axis">
        <End at={since} />
        <span class="whole">top: {axis(greatest)}</span>
        <End at={until} />
      </div>
    </figure>
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

function yOf(part: number): number {
  return height - 4 - part * (height - 8);
}

function lineOf(values: Series['values'], greatest: number): string {
  let path = '';
  let isDrawing = false;
  for (const [index, value] of values.entries()) {
    if (value !== undefined) {
      const x = values.length < 2 ? 0 : (index / (values.length - 1)) * width;
      path += `${isDrawing ? 'L' : 'M'}${x.toFixed(1)} ${yOf(value / greatest).toFixed(1)}`;
      // A single point is drawn as a dot: a line without length, with round ends.
      if (!isDrawing && values[index + 1] === undefined) path += 'h0.1';
    }
    isDrawing = value !== undefined;
  }
  return path;
}

/** The last and the largest value, for viewers who can't see the line. */
function summary(values: Series['values'], format: (value: number) => string): string {
  const known = values.filter((value) => value !== undefined);
  const last = values.at(-1);
  const greatest = known.length === 0 ? undefined : `at most ${format(Math.max(...known))}`;
  return [last === undefined ? '–' : format(last), greatest].filter((part) => part !== undefined).join(', ');
}

function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}
