/** Personal data: it is loaded only by a click, which goes into the audit list, and forgotten by the next one. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { type Refusal, refusalOf } from '../api/client.ts';
import { Refused } from './standing.tsx';

export function OnRequest<T>({
  title,
  what,
  load,
  children,
}: {
  readonly title: string;
  /** What the button shows and hides. */
  readonly what: string;
  /** `signal` aborts when the viewer leaves: what is loaded is recorded, so nothing is that nobody sees. */
  readonly load: (signal: AbortSignal) => Promise<T>;
  readonly children: (loaded: T) => ComponentChildren;
}) {
  const id = useId();
  const [loaded, setLoaded] = useState<{ readonly data: T }>();
  const [loading, setLoading] = useState<AbortController>();
  const [refusal, setRefusal] = useState<Refusal>();
  useEffect(() => () => loading?.abort(), [loading]);

  const show = async () => {
    const asked = new AbortController();
    setLoading(asked);
    setRefusal(undefined);
    try {
      setLoaded({ data: await load(asked.signal) });
    } catch (error) {
      setRefusal(refusalOf(error));
    }
    setLoading(undefined);
  };
  // A second request would be one more look, and could show again what has been hidden meanwhile.
  const press = () => {
    if (loaded) setLoaded(undefined);
    else if (!loading) void show();
  };

  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {refusal && <Refused refusal={refusal} />}
      <p>
        <button
          type="button"
          aria-expanded={loaded !== undefined}
          aria-disabled={loading !== undefined}
          onClick={press}
        >
          {loading ? 'Loading…' : loaded ? `Hide ${what}` : `Show ${what}`}
        </button>{' '}
        {!loaded && (
          <span class="faint">
            It may contain what callers have said. The audit list records that you looked.
          </span>
        )}
      </p>
      {loaded && children(loaded.data)}
    </section>
  );
}
