/** What the viewer may do; the page shows nothing else. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { get } from './client.ts';
import { noteReceiverTime } from './present.ts';
import type { Result } from './shapes.ts';

type Action = Result<'Access'>['actions'][number];

export interface Access {
  readonly by?: string | undefined;
  readonly mayDo: (action: Action) => boolean;
}

const nothing: Access = { mayDo: () => false };

export const AccessContext = createContext<Access>(nothing);

export function useAccess(): Access {
  return useContext(AccessContext);
}

export async function loadAccess(): Promise<Access> {
  const asked = Date.now();
  const { by, actions, now } = await get<Result<'Access'>>('/access');
  noteReceiverTime(now, asked);
  return { by, mayDo: (action) => actions.includes(action) };
}
