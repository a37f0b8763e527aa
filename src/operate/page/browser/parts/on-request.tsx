/** Personal data: it is loaded only by a click, which goes into the audit list, and forgotten by the next one. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
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
  readonly load: () => Promise<T>;
  readonly children: (loaded: T) => ComponentChildren;
}) {
  const id = useId();
  const [loaded, setLoaded] = useState<{ readonly data: T }>();
  const [refusal, setRefusal] = useState<Refusal>();

  const show = async () => {
    try {
      setLoaded({ data: await load() });
      setRefusal(undefined);
    } catch (error) {
      setRefusal(refusalOf(error));
    }
  };

  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {refusal && <Refused refusal={refusal} />}
      <p>
        <button
          type="button"
          aria-expanded={loaded !== undefined}
          onClick={() => (loaded ? setLoaded(undefined) : void show())}
        >
          {loaded ? `Hide ${what}` : `Show ${what}`}
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
