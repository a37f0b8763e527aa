/** Small pieces of text for many views. */
import type { ComponentChildren } from 'preact';
import { usePresent } from '../api/use-present.ts';
import { ago, directed, localTime, utcBeside, utcTime, visible } from './format.ts';

/** A time in the viewer's zone, with UTC beside it; if `isLong`, with all of UTC, and how long ago it is. */
export function Time({ at, isLong = false }: { readonly at: string | undefined; readonly isLong?: boolean }) {
  const past = usePresent(() => (at === undefined ? '' : ago(at)));
  if (at === undefined) return <span class="faint">–</span>;
  return (
    <time dateTime={at} title={`${utcTime(at)}, ${past}`}>
      <span class="whole">{localTime(at)}</span>{' '}
      {isLong ? (
        <span class="faint">
          · {past} · <span class="whole">{utcTime(at)}</span>
        </span>
      ) : (
        <span class="faint whole">({utcBeside(at)})</span>
      )}
    </time>
  );
}

/** Text that somebody else has written, in its own direction. */
export function Foreign({
  text,
  isCode = false,
}: {
  readonly text: string | undefined;
  readonly isCode?: boolean;
}) {
  if (text === undefined || text === '') return <span class="faint">–</span>;
  return isCode ? (
    <code dir="auto" title={text}>
      {visible(text)}
    </code>
  ) : (
    <span dir="auto" class="foreign" title={text}>
      {directed(text)}
    </span>
  );
}

/** The same within a sentence, where it is never cut short. */
export function ForeignWords({ text }: { readonly text: string }) {
  return <span dir="auto">{directed(text)}</span>;
}

/** The target of an audit entry: the conditions of a filter, which the API writes as JSON, or a name. */
export function Terms({ text }: { readonly text: string }) {
  return <Foreign text={conditionsIn(text) ?? text} />;
}

function conditionsIn(text: string): string | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    const conditions = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return conditions.map(([name, value]) => `${name} ${inZone(name, value)}`).join(', ');
  } catch {
    return undefined;
  }
}

function inZone(name: string, value: unknown): string {
  const isTime = (name === 'since' || name === 'until') && typeof value === 'number';
  return isTime ? `${localTime(value)} (${utcBeside(value)})` : String(value);
}

/** A state. The word says it; the colour only repeats it. */
export function State({ state }: { readonly state: string }) {
  return <span class={`state state-${state}`}>{state.replaceAll('_', ' ')}</span>;
}

/** Names with their values. */
export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

/** A name and its value, which has the row for itself if it is long. */
export function Fact({
  name,
  isLong = false,
  children,
}: {
  readonly name: string;
  readonly isLong?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <div class={isLong ? 'long-fact' : undefined}>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
