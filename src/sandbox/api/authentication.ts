import type { Keys } from '../keys.ts';
import type { Caller } from '../model.ts';
import { ApiError } from './route.ts';

/**
 * Who sends a request, by its bearer token (platform document, Authentication).
 *
 * @throws ApiError `unauthorized`, the same for a missing, a malformed and an unknown token
 */
export function authenticate(authorization: string | undefined, keys: Pick<Keys, 'callerOf'>): Caller {
  const [, key] = /^bearer +([\w.~+/-]+=*)$/i.exec(authorization ?? '') ?? [];
  const caller = key === undefined ? undefined : keys.callerOf(key);
  if (caller === undefined) throw new ApiError('unauthorized', 'Missing or invalid bearer token');
  return caller;
}
