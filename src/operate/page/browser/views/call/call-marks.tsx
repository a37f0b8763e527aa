/** The marks of a call's drawing: each kind has a shape of its own, which the legend names. */

/**
 * In the order of the legend, around the point of their time. `first` only begins there, because what it stands for came
 * later; `duplicate` is around `arrived` where both are at one place.
 */
const shapes = {
  started: 'M-5 -6.5L7 0L-5 6.5z',
  transferred: 'M-8 0L0 -8L8 0L0 8z',
  ended: 'M-5.5 -5.5h11v11h-11z',
  analysed: 'M-2.5 -7h5v4.5h4.5v5h-4.5v4.5h-5v-4.5h-4.5v-5h4.5z',
  happened: 'M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0',
  arrived: 'M-6 -4.5h12L0 6z',
  duplicate: 'M-9 -6.5h18L0 9z',
  done: 'M-6 0L-2 4L6 -5',
  first: 'M0 -6V6M4 0L8 4L15 -5',
  failed: 'M0 -6V2M0 5V5.5',
  dead: 'M-5 -5L5 5M5 -5L-5 5',
  due: 'M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0',
} as const;

export type MarkKind = keyof typeof shapes;
const inOrder = Object.keys(shapes) as readonly MarkKind[];

export const words: Readonly<Record<MarkKind, string>> = {
  started: 'started',
  transferred: 'transferred',
  ended: 'ended',
  analysed: 'analysed',
  happened: 'another event',
  arrived: 'arrived here',
  duplicate: 'duplicates arrived',
  done: 'done',
  first: 'done at the first attempt, some time after the line: the time is not stored',
  failed: 'failed, tried again',
  dead: 'given up',
  due: 'next attempt',
};

export function Shape({
  kind,
  at,
  title,
}: {
  readonly kind: MarkKind;
  readonly at?: readonly [x: number, y: number];
  readonly title?: string;
}) {
  return (
    <path class={`mark mark-${kind}`} d={shapes[kind]} transform={at && `translate(${at.join(' ')})`}>
      {title !== undefined && <title>{title}</title>}
    </path>
  );
}

export function Legend({ kinds }: { readonly kinds: ReadonlySet<MarkKind> }) {
  return (
    <p class="marks">
      {inOrder
        .filter((kind) => kinds.has(kind))
        .map((kind) => (
          <span key={kind}>
            <svg viewBox="-11 -11 28 22" aria-hidden="true">
              <Shape kind={kind} />
            </svg>
            {words[kind]}
          </span>
        ))}
    </p>
  );
}
