import { PlatformError } from './platform-error.ts';

/** The steps that bring one object of the platform into a wanted state. */
interface EnsureSteps<Found, Result> {
  readonly list: () => AsyncIterable<Found>;
  readonly matches: (listed: Found) => boolean;
  readonly create: () => Promise<Result>;
  /** Updates the fields of the found object that differ. */
  readonly bringUp: (found: Found) => Promise<Result>;
}

/** How often to search: another client may create the object after a search, or delete the one found. */
const maxRounds = 3;

/** Creates the object if it doesn't exist, and otherwise updates it. Searches again if another client was faster. */
export async function ensureOne<Found, Result>(steps: EnsureSteps<Found, Result>): Promise<Result> {
  let refusal: unknown;
  for (let round = 1; ; round += 1) {
    const found = await findIn(steps);
    // The creation was refused, but not because another client was faster: the platform's error explains it.
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

/** Whether another client may have been faster. The document doesn't say which status means that a name is taken. */
function mayBeOvertaken(error: unknown, wasFound: boolean): boolean {
  if (!(error instanceof PlatformError) || error.status === undefined) return false;
  return wasFound ? error.status === 404 : [400, 409, 422].includes(error.status);
}
