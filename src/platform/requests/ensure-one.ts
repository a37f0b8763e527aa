import { PlatformError } from './platform-error.ts';

/** The steps of bringing one thing at the platform into a wanted state. */
interface EnsureSteps<Found, Result> {
  /** Where it is looked for. */
  readonly list: () => AsyncIterable<Found>;
  readonly matches: (listed: Found) => boolean;
  readonly create: () => Promise<Result>;
  /** Changes what differs about the one that was found. */
  readonly bringUp: (found: Found) => Promise<Result>;
}

/** How often to look at most: another client may create it after a look, or delete the one found. */
const maxRounds = 3;

/** Creates it if it doesn't exist, and else brings it up. Looks again if another client was faster. */
export async function ensureOne<Found, Result>(steps: EnsureSteps<Found, Result>): Promise<Result> {
  let refusal: unknown;
  for (let round = 1; ; round += 1) {
    const found = await findIn(steps);
    // The creation was refused, but not because another client was faster: the platform's error says why.
    if (found === undefined && refusal !== undefined) throw refusal;
    try {
      return found === undefined ? await steps.create() : await steps.bringUp(found);
    } catch (error) {
      if (round === maxRounds || !mayBeOvertaken(error, found !== undefined)) throw error;
      refusal = found === undefined ? error : undefined;
    }
  }
}

async function findIn<Found>({ list, matches }: EnsureSteps<Found, unknown>): Promise<Found | undefined> {
  for await (const listed of list()) if (matches(listed)) return listed;
  return undefined;
}

/**
 * Whether another client may have created or deleted it meanwhile. The platform's document doesn't say which status
 * means that a name or an id is taken.
 */
function mayBeOvertaken(error: unknown, wasFound: boolean): boolean {
  if (!(error instanceof PlatformError) || error.status === undefined) return false;
  return wasFound ? error.status === 404 : [400, 409, 422].includes(error.status);
}
