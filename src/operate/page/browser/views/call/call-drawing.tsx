/** A call as a drawing on one axis of time: what happened, when it arrived here, and what the handlers did. */
import { useId } from 'preact/hooks';
import type { Call, Event, Handlers } from '../../api/shapes.ts';
import { useResource } from '../../api/use-resource.ts';
import { localTime, timeOfDay, utcBeside, utcTimeOfDay } from '../../parts/format.ts';
import { Refused } from '../../parts/standing.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/text.tsx';
import { timeScale } from '../../parts/time-scale.ts';
import { useWidth } from '../../parts/use-width.ts';
import { type Area, DrawnLane, Ways, laidOut, letterWidth } from './call-lane.tsx';
import { Legend, type MarkKind, words } from './call-marks.tsx';
import { type Lane, type StoryEntry, isNamed, storyOf, entriesOf } from './call-story.ts';
import { handlersOfOthers } from './matching-handlers.ts';

const top = 40;
/** Below this width, the names of lanes are written above them, not beside. */
const wide = 620;
const nameRoom = 18;

export function CallDrawing({ call, events }: { readonly call: Call; readonly events: readonly Event[] }) {
  const { data, refusal, reload } = useResource<Handlers>('/handlers', ['handlers']);
  const handlers = data?.handlers ?? [];
  const lanes = storyOf(call, events, handlers);
  const drawn = new Set(lanes.map(({ name }) => name));
  const unknown = handlersOfOthers(handlers).filter((name) => !drawn.has(name));
  return (
    <figure class="drawing">
      <div class="table" role="region" aria-label="The call over time" tabIndex={0}>
        <Drawing lanes={lanes} />
      </div>
      <Legend kinds={new Set(lanes.flatMap(({ marks }) => marks.map(({ kind }) => kind)))} />
      {unknown.length > 0 && (
        <p class="faint" dir="auto">
          Not drawn, because only other processes know which events they take: {unknown.join(', ')}
        </p>
      )}
      {refusal && !data && (
        <>
          <p class="faint">Only stored runs are drawn, because the handlers could not be read:</p>
          <Refused refusal={refusal} retry={reload} />
        </>
      )}
      <details>
        <summary>The same as a table</summary>
        <Table
          label="The call over time, as a table"
          columns={columns}
          rows={entriesOf(lanes)}
          keyOf={({ at, lane, text }) => `${lane} ${at} ${text}`}
        />
      </details>
    </figure>
  );
}

function Drawing({ lanes }: { readonly lanes: readonly Lane[] }) {
  const id = useId();
  const [ruler, width] = useWidth();
  const isWide = width >= wide;
  const [left, right] = isWide ? [120, width - 40] : [12, width - 22];
  const times = lanes.flatMap(({ marks, spans }) => [
    ...marks.map(({ at }) => at),
    ...spans.flatMap(({ from, to }) => [from, to]),
  ]);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const isOneDay = new Date(first).toDateString() === new Date(last).toDateString();
  const lines = isOneDay ? [timeOfDay, utcTimeOfDay] : [localTime, utcBeside];
  const longest = Math.max(...lines.flatMap((line) => [line(first).length, line(last).length]));
  const half = (longest * letterWidth) / 2;
  // The text of a tick at an edge is moved inwards.
  const moved = Math.max(0, half - Math.min(left, width - right));
  const { positionOf, breaks, ticks } = timeScale(times, (2 * half + moved) / (right - left));
  const area: Area = { left, right, xOf: (time) => left + positionOf(time) * (right - left) };
  let reached = top;
  let yAbove = top;
  const placed = lanes.map((lane) => {
    const laid = laidOut(lane, area);
    const y = reached + (isWide ? 0 : nameRoom) + 17;
    const above = yAbove;
    reached += laid.height + (isWide ? 0 : nameRoom);
    yAbove = y;
    return { laid, y, yAbove: above };
  });
  const height = reached + 6;
  return (
    <>
      <div ref={ruler} />
      <svg
        width={width}
        height={height}
        role="img"
        aria-labelledby={`${id}-title`}
        aria-describedby={`${id}-desc`}
      >
        <title id={`${id}-title`}>The call over time; the table below says the same</title>
        <desc id={`${id}-desc`}>{summaryOf(lanes)}</desc>
        {ticks.map((time) => (
          <Tick
            key={time}
            x={area.xOf(time)}
            textX={Math.min(Math.max(half, area.xOf(time)), width - half)}
            lines={lines.map((line) => line(time))}
            height={height}
          />
        ))}
        {breaks.map((place) => (
          <Break key={place} x={left + place * (right - left)} height={height} />
        ))}
        {placed.map(({ laid, y, yAbove: above }) => (
          <Ways key={laid.lane.name} laid={laid} area={area} y={y} yAbove={above} />
        ))}
        {placed.map(({ laid, y }) => (
          <g key={laid.lane.name}>
            <DrawnLane laid={laid} area={area} y={y} />
            <LaneName name={laid.lane.name} at={isWide ? [left - 14, y + 4] : [4, y - 20]} isWide={isWide} />
          </g>
        ))}
      </svg>
    </>
  );
}

function Tick({
  x,
  textX,
  lines: [local, utc],
  height,
}: {
  readonly x: number;
  /** The middle of its text. */
  readonly textX: number;
  readonly lines: readonly string[];
  readonly height: number;
}) {
  return (
    <g>
      <line class="grid" x1={x} x2={x} y1={top - 6} y2={height} />
      <text class="tick" text-anchor="middle">
        <tspan x={textX} y={13}>
          {local}
        </tspan>{' '}
        <tspan x={textX} y={27}>
          {utc}
        </tspan>
      </text>
    </g>
  );
}

/** A gap that was shortened, with its sign beneath the texts of the ticks. */
function Break({ x, height }: { readonly x: number; readonly height: number }) {
  return (
    <g>
      <path class="break" d={`M${x - 4} ${height}V${top - 6}h8V${height}z`} />
      <text class="tick" x={x} y={top + 2} text-anchor="middle">
        ⋯
      </text>
    </g>
  );
}

function LaneName({
  name,
  at: [x, y],
  isWide,
}: {
  readonly name: string;
  readonly at: readonly [x: number, y: number];
  readonly isWide: boolean;
}) {
  const maxLength = isWide ? 15 : 40;
  return (
    <text class="lane-name" x={x} y={y} text-anchor={isWide ? 'end' : 'start'}>
      {name.length > maxLength ? `${name.slice(0, maxLength - 1)}…` : name}
      <title>{name}</title>
    </text>
  );
}

/** What the drawing shows, in words, without the times, which are in the table. */
function summaryOf(lanes: readonly Lane[]): string {
  return lanes
    .map(({ name, marks, spans }) => {
      const counts = new Map<MarkKind, number>();
      for (const { kind } of marks) counts.set(kind, (counts.get(kind) ?? 0) + 1);
      const said = [
        ...spans.filter(isNamed).map(({ text }) => text),
        ...[...counts].map(([kind, count]) => `${words[kind]}${count > 1 ? ` (${count} times)` : ''}`),
      ];
      return `${name}: ${said.join(', ') || 'nothing'}.`;
    })
    .join(' ');
}

const columns: readonly Column<StoryEntry>[] = [
  {
    head: 'When',
    cell: ({ at, isAfter }) => (
      <>
        {isAfter && 'after '}
        <Time at={new Date(at).toISOString()} />
      </>
    ),
  },
  { head: 'Where', cell: ({ lane }) => <div dir="auto">{lane}</div> },
  { head: 'What', cell: ({ text }) => <div dir="auto">{text}</div>, looks: 'wide' },
];
