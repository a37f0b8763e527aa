/** One handler: its state, and what it did over time. */
import { pathOf } from '../api/client.ts';
import type { HandlerHistory, Handlers } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import { Empty, Loaded } from '../parts/standing.tsx';
import { linkTo } from '../router.ts';
import { HandlerTable } from './handlers.tsx';
import { OverTime, attemptPlots } from '../parts/over-time.tsx';

interface HandlerProps {
  readonly name: string;
  readonly range: string | undefined;
}

export function HandlerView({ name, range }: HandlerProps) {
  const resource = useResource<Handlers>('/handlers', ['handlers', 'events', 'failures']);
  return (
    <>
      <p class="way">
        <a href={linkTo(['handlers'])}>Handlers</a>
      </p>
      <div class="title">
        <h1 tabIndex={-1} dir="auto">
          {name}
        </h1>
        <a href={linkTo(['events'], { handler: name })}>its events</a>
      </div>
      <Loaded resource={resource}>
        {({ handlers }) => {
          const found = handlers.filter((handler) => handler.name === name);
          return found.length > 0 ? (
            <HandlerTable handlers={found} />
          ) : (
            <Empty title="No process has this handler, and none of its runs is unfinished." />
          );
        }}
      </Loaded>
      <OverTime<HandlerHistory>
        range={range}
        path={['handlers', name]}
        address={`/handlers${pathOf(name)}/history`}
        plotsOf={attemptPlots}
      />
    </>
  );
}
