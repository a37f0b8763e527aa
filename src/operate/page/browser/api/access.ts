/** What the API offers, and what the viewer may do with it: nothing else is shown. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { Refusal, get } from './client.ts';

export type Action = 'look' | 'bodies' | 'replay' | 'dismiss' | 'quarantine' | 'erase' | 'pause';

export interface Access {
  readonly by: string | undefined;
  readonly mayDo: (action: Action) => boolean;
  /** Whether the API has a path, such as `/handlers`. */
  readonly offers: (path: string) => boolean;
}

const nothing: Access = { by: undefined, mayDo: () => false, offers: () => false };

export const AccessContext = createContext<Access>(nothing);

export function useAccess(): Access {
  return useContext(AccessContext);
}

/** Asks once what there is: a receiver that can't do something is not asked for it. */
export async function loadAccess(): Promise<Access> {
  const document = await get<{ readonly paths: Readonly<Record<string, unknown>> }>('/openapi.json');
  const paths = document?.data.paths ?? {};
  const offers = (path: string) => Object.hasOwn(paths, path);
  if (!offers('/access')) return { by: undefined, mayDo: (action) => action !== 'pause', offers };
  const access = await get<{ readonly by?: string; readonly actions: readonly string[] }>('/access');
  if (!access) throw new Refusal(0, 'unknown', 'It is not known what you may do.');
  const { by, actions } = access.data;
  return { by, mayDo: (action) => actions.includes(action), offers };
}
