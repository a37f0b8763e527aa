/** The counts of the inbox, which the menu and the overview show: asked for once for both. */
import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Counts } from './shapes.ts';
import { type Resource, useResource } from './use-resource.ts';

const CountsContext = createContext<Resource<Counts>>({
  data: undefined,
  refusal: undefined,
  reload: () => {},
});

export function CountsProvider({ children }: { readonly children: ComponentChildren }) {
  const counts = useResource<Counts>('/counts', ['events', 'quarantine', 'failures', 'handlers']);
  return <CountsContext.Provider value={counts}>{children}</CountsContext.Provider>;
}

export function useCounts(): Resource<Counts> {
  return useContext(CountsContext);
}
