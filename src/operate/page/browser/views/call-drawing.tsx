/** A call as a drawing on one axis of time: what happened, when it arrived here, and what the handlers did. */
import { useId } from 'preact/hooks';
import { timeOfDay } from '../parts/format.ts';
import { type Column, Table } from '../parts/table.tsx';
import { timeScale } from '../parts/time-scale.ts';
import { Time } from '../parts/text.tsx';
import { type Lane, type Mark, type Span, tellingOf } from './call-story.ts';

const width = 960;
const left = 120;
const right = 40;
const laneHeight = 34;
const top = 26;

export function CallDrawing({ lanes }: { readonly lanes: readonly Lane[] }) {
  const id = useId();
  const times = lanes.flatMap(({ marks, spans }) => [
    ...marks.map(({ at }) => at),
    ...spans.flatMap(({ from, to }) => [from, to]),
  ]);
  const { placeOf, breaks, ticks } = timeScale(times);
  const xOf = (time: number) => left + placeOf(time) * (width - left - right);
  const height = top + lanes.length * laneHeight + 6;
  return (
    <figure class="drawing">
      <div class="table" role="region" aria-label="The call over time" tabIndex={0}>
        <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-labelledby={`${id}-title`}>
          <title id={`${id}-title`}>The call over time; the table below says the same</title>
          {ticks.map((time) => (
            <g key={time}>
              <line class="grid" x1={xOf(time)} x2={xOf(time)} y1={top - 6} y2={height} />
              <text class="tick" x={xOf(time)} y={13} text-anchor={placeOf(time) > 0.95 ? 'end' : 'middle'}>
                {timeOfDay(time)}
              </text>
            </g>
          ))}
          {breaks.map((place) => {
            const x = left + place * (width - left - right);
            return (
              <g key={place}>
                <path class="break" d={`M${x - 4} ${height}V${top - 6}h8V${height}z`} />
                <text class="tick" x={x} y={13} text-anchor="middle">
                  ⋯
                </text>
              </g>
            );
          })}
          {lanes.map((lane, place) => (
            <DrawnLane key={lane.name} lane={lane} y={top + (place + 0.5) * laneHeight} xOf={xOf} />
          ))}
        </svg>
      </div>
      <Legend lanes={lanes} />
      <details>
        <summary>The same as a table</summary>
        <Table
          label="The call over time, as a table"
          columns={columns}
          rows={tellingOf(lanes)}
          keyOf={({ at, lane, text, kind }) => `${lane} ${kind} ${at} ${text}`}
        />
      </details>
    </figure>
  );
}

function DrawnLane({
  lane: { name, marks, spans },
  y,
  xOf,
}: {
  readonly lane: Lane;
  readonly y: number;
  readonly xOf: (time: number) => number;
}) {
  return (
    <g>
      <line class="lane" x1={left} x2={width - right} y1={y} y2={y} />
      <text class="lane-name" x={left - 14} y={y + 4} text-anchor="end">
        {name.length > 15 ? `${name.slice(0, 14)}…` : name}
        <title>{name}</title>
      </text>
      {spans.map((span) => (
        <DrawnSpan key={`${span.kind} ${span.from} ${span.text}`} span={span} y={y} xOf={xOf} />
      ))}
      {marks.map((mark) => (
        <DrawnMark key={`${mark.kind} ${mark.at} ${mark.text}`} mark={mark} x={xOf(mark.at)} y={y} />
      ))}
    </g>
  );
}

function DrawnSpan({
  span: { from, to, kind, text },
  y,
  xOf,
}: {
  readonly span: Span;
  readonly y: number;
  readonly xOf: (time: number) => number;
}) {
  const x = xOf(from);
  const long = Math.max(2, xOf(to) - x);
  if (kind === 'way') return <line class="way-line" x1={x} x2={x + long} y1={y - laneHeight + 6} y2={y} />;
  const fits = long > text.length * 6.5 + 12;
  return (
    <g>
      <rect class={`span span-${kind}`} x={x} y={y - 11} width={long} height={22} rx={4}>
        <title>{text}</title>
      </rect>
      {fits && (
        <text class={`span-text span-text-${kind}`} x={x + long / 2} y={y + 4} text-anchor="middle">
          {text}
        </text>
      )}
    </g>
  );
}

/** Kinds differ in shape or stroke, not only in colour. */
function DrawnMark({
  mark: { kind, text, at },
  x,
  y,
}: {
  readonly mark: Mark;
  readonly x: number;
  readonly y: number;
}) {
  return (
    <path class={`mark mark-${kind}`} d={shapes[kind]} transform={`translate(${x} ${y})`}>
      <title>{`${text}, ${timeOfDay(at)}`}</title>
    </path>
  );
}

const circle = 'M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0';
const shapes: Readonly<Record<Mark['kind'], string>> = {
  happened: circle,
  arrived: 'M-6 -4.5h12L0 6z',
  transfer: 'M-8 0L0 -8L8 0L0 8z',
  done: 'M-6 0L-2 4L6 -5',
  failed: 'M0 -6V2M0 5V5.5',
  dead: 'M-5 -5L5 5M5 -5L-5 5',
  due: circle,
};

const words: Readonly<Record<Mark['kind'], string>> = {
  happened: 'happened',
  arrived: 'arrived here',
  transfer: 'transferred',
  done: 'done',
  failed: 'failed, tried again',
  dead: 'given up',
  due: 'next attempt',
};

function Legend({ lanes }: { readonly lanes: readonly Lane[] }) {
  const kinds = new Set(lanes.flatMap(({ marks }) => marks.map(({ kind }) => kind)));
  return (
    <p class="marks">
      {[...kinds].map((kind) => (
        <span key={kind}>
          <svg viewBox="-10 -10 20 20" aria-hidden="true">
            <path class={`mark mark-${kind}`} d={shapes[kind]} />
          </svg>
          {words[kind]}
        </span>
      ))}
    </p>
  );
}

const columns: readonly Column<Mark & { readonly lane: string }>[] = [
  { head: 'When', cell: ({ at }) => <Time at={new Date(at).toISOString()} /> },
  { head: 'Where', cell: ({ lane }) => <div dir="auto">{lane}</div> },
  { head: 'What', cell: ({ text }) => <div dir="auto">{text}</div>, looks: 'wide' },
];
