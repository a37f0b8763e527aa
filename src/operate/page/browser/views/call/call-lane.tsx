/** One lane of a call's drawing, with its labels in rows beneath its marks. */
import { localTime, utcBeside } from '../../parts/format.ts';
import { Shape } from './call-marks.tsx';
import { type Lane, type Mark, type Span, isNamed } from './call-story.ts';

/** The place of a lane's content, in pixels. */
export interface Area {
  readonly left: number;
  readonly right: number;
  readonly xOf: (time: number) => number;
}

/** A lane, where its texts are, and the height that it takes. */
export interface LaidLane {
  readonly lane: Lane;
  /** Its spans, but for the ways from the lane above. */
  readonly spans: readonly LaidSpan[];
  readonly labels: readonly Label[];
  readonly height: number;
}

interface LaidSpan {
  readonly span: Span;
  /** The middle of its text; undefined if that is not written into it. */
  readonly textX: number | undefined;
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
/** How far a label is from its time, where a line may lead to the next lane, and from other labels. */
const labelGap = 5;
/** Rather too wide than too narrow: texts must not overlap. */
export const letterWidth = 7;
/** How far a mark reaches to either side of its time. */
const markReach = 9;

export function laidOut(lane: Lane, area: Area): LaidLane {
  const spans = lane.spans
    .filter(({ kind }) => kind !== 'way')
    .map((span) => ({ span, textX: textPlace(span, lane.marks, area) }));
  const labels: Label[] = [];
  const taken: [from: number, to: number][][] = [];
  for (const { at, text } of textsOf(spans, lane.marks)) {
    const width = text.length * letterWidth;
    const x = area.xOf(at);
    const isLast = x + labelGap + width > area.right;
    const from = isLast ? Math.max(area.left, x - labelGap - width) : x + labelGap;
    const isFree = (row: number) =>
      (taken[row] ?? []).every(([start, end]) => from > end + labelGap || from + width + labelGap < start);
    const row = Array.from({ length: maxRows }, (_, index) => index).find(isFree);
    if (row === undefined) continue;
    (taken[row] ??= []).push([from, from + width]);
    labels.push({ text, row, x: isLast ? from + width : from, anchor: isLast ? 'end' : 'start' });
  }
  return { lane, spans, labels, height: markRoom + taken.length * rowHeight };
}

/** What is to be written beneath a lane: first what its spans have no room for, then what its marks say. */
function textsOf(
  spans: readonly LaidSpan[],
  marks: readonly Mark[],
): { readonly at: number; readonly text: string }[] {
  const ofSpans = spans.filter(({ span, textX }) => isNamed(span) && textX === undefined);
  const ofMarks = marks.filter(({ label }) => label !== undefined);
  return [
    ...ofSpans.map(({ span: { from, text } }) => ({ at: from, text })),
    ...ofMarks
      .map(({ at, label = '' }) => ({ at, text: cut(label) }))
      .sort((one, other) => one.at - other.at),
  ];
}

function cut(label: string): string {
  return label.length > maxLabel ? `${label.slice(0, maxLabel - 1)}…` : label;
}

/** Lines from the lane above. They are drawn before all lanes, whose labels are to be in front of them. */
export function Ways({
  laid: { lane },
  area: { xOf },
  y,
  yAbove,
}: {
  readonly laid: LaidLane;
  readonly area: Area;
  /** Where the lane's line is, and that of the lane above. */
  readonly y: number;
  readonly yAbove: number;
}) {
  return lane.spans
    .filter(({ kind }) => kind === 'way')
    .map(({ from, to, text }) => (
      <line key={`${from} ${text}`} class="way-line" x1={xOf(from)} x2={xOf(to)} y1={yAbove + 8} y2={y} />
    ));
}

export function DrawnLane({
  laid: { lane, spans, labels },
  area,
  y,
}: {
  readonly laid: LaidLane;
  readonly area: Area;
  /** Where its line is. */
  readonly y: number;
}) {
  return (
    <>
      <line class="lane" x1={area.left} x2={area.right} y1={y} y2={y} />
      {spans.map(({ span, textX }) => (
        <DrawnSpan
          key={`${span.kind} ${span.from} ${span.text}`}
          span={span}
          textX={textX}
          area={area}
          y={y}
        />
      ))}
      {lane.marks.map(({ kind, at, text }) => (
        <Shape
          key={`${kind} ${at} ${text}`}
          kind={kind}
          at={[area.xOf(at), y]}
          title={`${text}, ${localTime(at)} (${utcBeside(at)})`}
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
  textX,
  area,
  y,
}: LaidSpan & {
  readonly area: Area;
  readonly y: number;
}) {
  const { kind, from, to, text } = span;
  const [x, end] = [area.xOf(from), area.xOf(to)];
  if (kind === 'repeats') return <line class="repeats-line" x1={x} x2={end} y1={y} y2={y} />;
  const width = Math.max(2, end - x);
  return (
    <g>
      <rect class={`span span-${kind}`} x={x} y={y - 11} width={width} height={22} rx={4}>
        <title>{text}</title>
      </rect>
      {textX !== undefined && (
        <text class={`span-text span-text-${kind}`} x={textX} y={y + 4} text-anchor="middle">
          {text}
        </text>
      )}
    </g>
  );
}

/** The middle of the widest part of a named span that no mark covers, if the span's text fits into that part. */
function textPlace(span: Span, marks: readonly Mark[], { xOf }: Area): number | undefined {
  if (!isNamed(span)) return undefined;
  const [x, end] = [xOf(span.from), xOf(span.to)];
  const covered = marks.map(({ at }) => xOf(at)).sort((one, other) => one - other);
  const starts = [x, ...covered.map((at) => Math.max(x, at + markReach))];
  const ends = [...covered.map((at) => Math.min(end, at - markReach)), end];
  const parts = starts.map((start, index) => {
    const width = (ends[index] ?? end) - start;
    return { width, middle: start + width / 2 };
  });
  const widest = parts.reduce((best, part) => (part.width > best.width ? part : best));
  return widest.width > span.text.length * letterWidth + 12 ? widest.middle : undefined;
}
