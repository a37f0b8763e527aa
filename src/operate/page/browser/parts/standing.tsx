/** Shown in place of data: that it is loading, empty, or why it can't be shown. */
import type { ComponentChildren } from 'preact';
import type { Refusal } from '../api/client.ts';
import type { Resource } from '../api/use-resource.ts';

/** Shows data once it is loaded. An error appears above it, and known data stays. */
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

/** An error, and a button to try again. */
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

/** An empty result; the text says what to do next. */
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
