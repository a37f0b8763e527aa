/** Who may do what over the API: the app that mounts it decides for every request. */
import { RingbackError, configError } from '../../errors/errors.ts';
import { classAndLocationOf } from '../../kit/error-location.ts';

/** What a request can be allowed to do. */
export const actions = ['look', 'bodies', 'replay', 'dismiss', 'quarantine', 'erase', 'pause'] as const;

/**
 * `'look'`: lists and records, without what callers said. `'bodies'`: bodies and headers too, and what calls' records
 * tell of them: why a call was transferred, its caller's sentiment, the reason of its analysis. `'quarantine'`: release,
 * discard and reverify. `'pause'`: pause and resume handlers, mute and unmute groups of failures.
 */
export type Action = (typeof actions)[number];

/** `'all'`; `'read'`, which is `'look'` and `'bodies'`; or a list of actions. */
export type Access = 'all' | 'read' | readonly Action[];

/** What may be done, and by whom: the name is stored in the audit list. */
export interface NamedAccess {
  readonly access: Access;
  /** Who asks, for example a user name. */
  readonly by: string;
}

/**
 * Decides about a request. `source` is the request as your server knows it: Express's, with your session, or
 * node:http's, or the Request itself. Undefined, null and false refuse.
 */
export type Authorize = (request: Request, source: unknown) => Allowed | PromiseLike<Allowed>;

type Allowed = Access | NamedAccess | undefined | null | false;

/** @throws ConfigError if it is no function: forgetting it must let nobody in */
export function requireAuthorize(authorize: unknown, where: 'receiver.api' | 'receiver.page'): void {
  if (typeof authorize === 'function') return;
  throw configError('option_invalid', {
    option: `authorize in ${where}`,
    expected: "a function that returns 'all', 'read' or a list of actions for each request that it admits",
    found: authorize === undefined ? 'left out' : `of type ${typeof authorize}`,
  });
}

/** What a request may do. */
export interface Permission {
  readonly actions: readonly Action[];
  readonly by: string | undefined;
}

const reading: readonly Action[] = ['look', 'bodies'];

/**
 * Asks the app what a request may do; undefined if it may do nothing.
 *
 * @throws Error with the location where `authorize` failed, for the log, and without its message, which may quote a
 * header, such as a token that it could not read
 */
export async function askedPermission(
  authorize: Authorize,
  request: Request,
  source: unknown,
): Promise<Permission | undefined> {
  let allowed: unknown;
  try {
    allowed = await authorize(request, source);
  } catch (error) {
    const { aborted, reason } = request.signal;
    if (error instanceof RingbackError || (aborted && error === reason)) throw error;
    throw new Error(`authorize failed: ${classAndLocationOf(error)}`, { cause: error });
  }
  return permissionOf(allowed);
}

/**
 * What the app's answer allows; undefined if it allows nothing or isn't a valid answer.
 *
 * @throws TypeError if it allows something under an invalid name, which would be missing in the audit list
 */
function permissionOf(allowed: unknown): Permission | undefined {
  if (isNamed(allowed)) {
    const permission = permissionOf(allowed.access);
    return permission && { ...permission, by: nameIn(allowed.by) };
  }
  const allowedActions = actions.filter((action) => listOf(allowed).includes(action));
  return allowedActions.length === 0 ? undefined : { actions: allowedActions, by: undefined };
}

function nameIn(by: unknown): string | undefined {
  if (by === undefined || (typeof by === 'string' && by.trim() !== '')) return by;
  const found = by === null ? 'null' : typeof by === 'string' ? 'empty' : `of type ${typeof by}`;
  throw new TypeError(
    `authorize should return { access, by } with a name as by, but by is ${found}. Return a name, or only the access.`,
  );
}

function listOf(allowed: unknown): readonly unknown[] {
  if (allowed === 'all') return actions;
  if (allowed === 'read') return reading;
  return Array.isArray(allowed) ? allowed : [];
}

function isNamed(allowed: unknown): allowed is { readonly access: unknown; readonly by: unknown } {
  return typeof allowed === 'object' && allowed !== null && 'access' in allowed && 'by' in allowed;
}
