/** The runs of an event in few words, for lists. */
import type { Event } from '../api/shapes.ts';
import { State } from './text.tsx';

const worstFirst = ['dead', 'blocked', 'due', 'running', 'done'] as const;

/** How an event stands: in which state its runs are, or the event itself where no run is remembered. */
export function Standing({ event: { state, runs } }: { readonly event: Event }) {
  if (runs.length === 0) return <State state={state} />;
  const states = worstFirst.filter((wanted) => runs.some((run) => run.state === wanted));
  return (
    <>
      {states.map((wanted) => {
        const names = runs.filter((run) => run.state === wanted).map((run) => run.handler);
        return (
          <span key={wanted} class={`state state-${wanted}`} dir="auto" title={names.join(', ')}>
            {wanted}: {names.length > 2 ? `${names.length} handlers` : names.join(', ')}
          </span>
        );
      })}
    </>
  );
}
