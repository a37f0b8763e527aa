/** What is shown in the place of data: nothing yet, nothing at all, or why not. */
import type { ComponentChildren } from 'preact';
import type { Refusal } from '../api/client.ts';
import type { Resource } from '../api/use-resource.ts';

/** Shows data once it is there, what went wrong above it, and keeps what is known meanwhile. */
export function Loaded<T>({
  resource,
  heading,
  children,
}: {
  readonly resource: Resource<T>;
  /** The heading of the view until the data brings its own. */
  readonly heading?: string;
  readonly children: (data: T) => ComponentChildren;
}) {
  const { data, refusal, reload } = resource;
  return (
    <>
      {heading !== undefined && data === undefined && (
        <h1 tabIndex={-1} dir="auto">
          {heading}
        </h1>
      )}
      {refusal && <Refused refusal={refusal} retry={reload} />}
      {data !== undefined && children(data)}
      {data === undefined && !refusal && (
        <p class="loading" aria-busy="true">
          Loading…
        </p>
      )}
    </>
  );
}

/** What the API said that is wrong. */
export function Refused({ refusal, retry }: { readonly refusal: Refusal; readonly retry?: () => void }) {
  return (
    <div class="refused" role="alert">
      <p dir="auto">{refusal.message}</p>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Nothing is there; the text says what to do next. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <p>{children}</p>}
    </div>
  );
}
