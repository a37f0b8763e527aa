/** The fields of a filter of events, with the handlers that there are. */
import type { Failures, Handlers } from '../api/shapes.ts';
import { useResource } from '../api/use-resource.ts';
import type { Field } from '../parts/filter-form.tsx';
import type { Route } from '../router.ts';

/** The known names; there may be others. */
const eventNames = [
  'CallHandler.CallStarted',
  'CallHandler.CallEnded',
  'CallHandler.CallTransferred',
  'callAnalysis.pcaCompleted',
];

/** The names of the handlers, asked for once. */
export function useHandlerNames(): readonly string[] {
  const { data } = useResource<Handlers>('/handlers', []);
  return data?.handlers.map(({ name }) => name) ?? [];
}

/** The id of a group of failures has a field only if a link from there sets it. `handlers`: the names to propose. */
export function useEventFields({ failure }: Route['query'], handlers: readonly string[]): readonly Field[] {
  const { data } = useResource<Failures>(failure ? '/failures' : undefined, []);
  const group = data?.groups.find(({ id }) => id === failure);
  return [
    { name: 'traceId', label: 'Trace id' },
    { name: 'callId', label: 'Call' },
    { name: 'eventName', label: 'Event', proposals: eventNames },
    { name: 'handler', label: 'Handler', proposals: handlers },
    { name: 'agentId', label: 'Agent' },
    { name: 'state', label: 'State', choices: ['new', 'open', 'done', 'dead'] },
    { name: 'since', label: 'Arrived since', isTime: true },
    { name: 'until', label: 'Arrived before', isTime: true },
    ...(failure ? [{ name: 'failure', label: 'Group of failures', hint: group?.message, isLong: true }] : []),
  ];
}
