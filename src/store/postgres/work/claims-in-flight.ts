import { setImmediate as turn } from 'node:timers/promises';

/**
 * The claims whose answers are on their way. A claim that the database made before a run was put back has not seen that run,
 * though its answer may come later: who puts a run back waits for these, so that the run goes before what they have claimed.
 */
export class ClaimsInFlight {
  readonly #claims = new Set<Promise<unknown>>();

  add<T>(claim: Promise<T>): Promise<T> {
    this.#claims.add(claim);
    const remove = () => void this.#claims.delete(claim);
    claim.then(remove, remove);
    return claim;
  }

  /** Resolves when the claims that are in flight now have ended, and whoever asked for them has taken their results. */
  async ended(): Promise<void> {
    if (this.#claims.size === 0) return;
    await Promise.allSettled(this.#claims);
    await turn();
  }
}
