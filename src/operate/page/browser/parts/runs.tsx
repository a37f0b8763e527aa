/** The runs of an event in few words, for lists. */
import type { Event } from '../api/shapes.ts';

const worstFirst = ['dead', 'blocked', 'due', 'running', 'done'] as const;

/** How an event stands: a dead letter counts more than that nothing is left to be done. */
export function standingOf({ state, runs }: Pick<Event, 'state' | 'runs'>): string {
  return runs.some((run) => run.state === 'dead') ? 'dead' : state;
}

/** How many runs of an event are in which state. */
export function Runs({ runs }: Pick<Event, 'runs'>) {
  const states = worstFirst.filter((state) => runs.some((run) => run.state === state));
  if (states.length === 0) return <span class="faint">–</span>;
  return (
    <>
      {states.map((state) => {
        const names = runs.filter((run) => run.state === state).map((run) => run.handler);
        return (
          <span key={state} class={`state state-${state}`} dir="auto">
            {state}: {names.length > 2 ? `${names.length} handlers` : names.join(', ')}
          </span>
        );
      })}
    </>
  );
}
