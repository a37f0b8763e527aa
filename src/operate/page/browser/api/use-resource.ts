import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, type Refusal, getUnlessSame, refusalOf } from './client.ts';
import { watch } from './changes.ts';

/** The current state of a resource of the API. */
export interface Resource<T> {
  readonly data: T | undefined;
  readonly refusal: Refusal | undefined;
  readonly reload: () => void;
}

interface Known<T> {
  readonly path: string | undefined;
  readonly answer?: Answer<T>;
  readonly refusal?: Refusal | undefined;
}

/** Loads a path, and again when a topic has changed. Loads nothing while the path is undefined. */
export function useResource<T>(path: string | undefined, topics: readonly string[]): Resource<T> {
  const [known, setKnown] = useState<Known<T>>({ path });
  const latest = useRef(known);
  latest.current = known;
  const ask = useRef<() => void>(() => {});
  const on = topics.join(' ');

  useEffect(() => {
    if (path === undefined) return undefined;
    const abort = new AbortController();
    let isAsking = false;
    let isAskedAgain = false;
    const load = async () => {
      if (isAsking) {
        isAskedAgain = true;
        return;
      }
      isAsking = true;
      const before = latest.current.path === path ? latest.current.answer : undefined;
      try {
        const answer = await getUnlessSame<T>(path, before?.tag, abort.signal);
        // A late answer is about something that is no longer shown.
        if (abort.signal.aborted) return;
        if (answer) setKnown({ path, answer });
        else if (latest.current.refusal && before) setKnown({ path, answer: before });
      } catch (error) {
        if (abort.signal.aborted) return;
        const refusal = refusalOf(error, 'This page tries again by itself.');
        setKnown({ path, ...(before && isPassing(refusal) && { answer: before }), refusal });
      } finally {
        isAsking = false;
      }
      if (isAskedAgain) {
        isAskedAgain = false;
        void load();
      }
    };
    ask.current = () => void load();
    void load();
    const end = watch(topics, () => void load());
    return () => {
      end();
      abort.abort();
    };
  }, [path, on]);

  const reload = useCallback(() => ask.current(), []);
  const isCurrent = known.path === path;
  return {
    data: isCurrent ? known.answer?.data : undefined,
    refusal: isCurrent ? known.refusal : undefined,
    reload,
  };
}

/** Whether the refusal is temporary, so that the known data remains shown. */
export function isPassing({ status }: Refusal): boolean {
  return status === 0 || status === 429 || status >= 500;
}
