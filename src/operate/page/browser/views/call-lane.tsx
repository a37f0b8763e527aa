/** One lane of a call's drawing, with its labels in rows beneath its marks. */
import { timeOfDay, utcTimeOfDay } from '../parts/format.ts';
import { Shape } from './call-marks.tsx';
import { type Lane, type Span, isNamed } from './call-story.ts';

/** The place of a lane's content, in pixels. */
export interface Area {
  readonly left: number;
  readonly right: number;
  readonly xOf: (time: number) => number;
}

/** A lane and the height that it takes. */
export interface LaidLane {
  readonly lane: Lane;
  readonly labels: readonly Label[];
  readonly height: number;
}

/** A text beneath a mark or a span that has no room for it. */
interface Label {
  readonly text: string;
  readonly x: number;
  readonly anchor: 'start' | 'end';
  readonly row: number;
}

const markRoom = 34;
const rowHeight = 15;
/** Of more marks close together, not all have a label. The legend names their shapes, and the table says the rest. */
const maxRows = 8;
const maxLabel = 30;
/** Rather too wide than too narrow: texts must not overlap. */
const letterWidth = 7;

export function laidOut(lane: Lane, area: Area): LaidLane {
  const labels: Label[] = [];
  const taken: [from: number, to: number][][] = [];
  for (const { at, text } of textsOf(lane, area)) {
    const width = text.length * letterWidth;
    const x = area.xOf(at);
    const isLast = x - 6 + width > area.right;
    const from = isLast ? Math.max(area.left, x + 6 - width) : x - 6;
    const isFree = (row: number) =>
      (taken[row] ?? []).every(([start, end]) => from > end || from + width < start);
    const row = Array.from({ length: maxRows }, (_, index) => index).find(isFree);
    if (row === undefined) continue;
    (taken[row] ??= []).push([from, from + width]);
    labels.push({ text, row, x: isLast ? from + width : from, anchor: isLast ? 'end' : 'start' });
  }
  return { lane, labels, height: markRoom + taken.length * rowHeight };
}

/** What is to be written beneath a lane: first what its spans have no room for, then what its marks say. */
function textsOf({ spans, marks }: Lane, area: Area): { readonly at: number; readonly text: string }[] {
  const ofSpans = spans.filter((span) => isNamed(span) && !hasRoom(span, area));
  const ofMarks = marks.filter(({ label }) => label !== undefined);
  return [
    ...ofSpans.map(({ from, text }) => ({ at: from, text })),
    ...ofMarks
      .map(({ at, label = '' }) => ({ at, text: cut(label) }))
      .sort((one, other) => one.at - other.at),
  ];
}

function cut(label: string): string {
  return label.length > maxLabel ? `${label.slice(0, maxLabel - 1)}…` : label;
}

export function DrawnLane({
  laid: { lane, labels },
  area,
  y,
  yAbove,
}: {
  readonly laid: LaidLane;
  readonly area: Area;
  /** Where its line is, and that of the lane above. */
  readonly y: number;
  readonly yAbove: number;
}) {
  return (
    <>
      <line class="lane" x1={area.left} x2={area.right} y1={y} y2={y} />
      {lane.spans.map((span) => (
        <DrawnSpan
          key={`${span.kind} ${span.from} ${span.text}`}
          span={span}
          area={area}
          y={y}
          yAbove={yAbove}
        />
      ))}
      {lane.marks.map(({ kind, at, text }) => (
        <Shape
          key={`${kind} ${at} ${text}`}
          kind={kind}
          at={[area.xOf(at), y]}
          title={`${text}, ${timeOfDay(at)} (${utcTimeOfDay(at)})`}
        />
      ))}
      {labels.map(({ text, x, anchor, row }) => (
        <text key={`${row} ${x}`} class="label" x={x} y={y + 24 + row * rowHeight} text-anchor={anchor}>
          {text}
        </text>
      ))}
    </>
  );
}

function DrawnSpan({
  span,
  area,
  y,
  yAbove,
}: {
  readonly span: Span;
  readonly area: Area;
  readonly y: number;
  readonly yAbove: number;
}) {
  const { kind, from, to, text } = span;
  const [x, end] = [area.xOf(from), area.xOf(to)];
  if (kind === 'way') return <line class="way-line" x1={x} x2={end} y1={yAbove + 8} y2={y} />;
  if (kind === 'repeats') return <line class="repeats-line" x1={x} x2={end} y1={y} y2={y} />;
  const width = Math.max(2, end - x);
  return (
    <g>
      <rect class={`span span-${kind}`} x={x} y={y - 11} width={width} height={22} rx={4}>
        <title>{text}</title>
      </rect>
      {hasRoom(span, area) && (
        <text class={`span-text span-text-${kind}`} x={x + width / 2} y={y + 4} text-anchor="middle">
          {text}
        </text>
      )}
    </g>
  );
}

/** Whether a span's text fits into it. */
function hasRoom({ from, to, text }: Span, { xOf }: Area): boolean {
  return xOf(to) - xOf(from) > text.length * letterWidth + 12;
}
