import type { Run } from '../handling.ts';

/**
 * Runs of events over which several processes have died are suspect. They begin one at a time, so that only the run
 * that ends the next process is blamed. The handlers take turns: a slow one must not keep its siblings from all suspect
 * runs of theirs.
 */
export class SuspectRuns<Work extends { readonly run: Run }, Lanes> {
  #inTurn: readonly Lanes[];
  /** The active suspect run, if there is one. */
  #active: Work | undefined;

  constructor(lanes: readonly Lanes[]) {
    this.#inTurn = lanes;
  }

  /** The lanes in the order in which they are looked at. */
  get inTurn(): readonly Lanes[] {
    return this.#inTurn;
  }

  readonly mayBegin = (work: Work): boolean => !isSuspect(work) || this.#active === undefined;

  /** A run of these lanes begins. */
  began(lanes: Lanes, work: Work): void {
    if (!isSuspect(work)) return;
    this.#active = work;
    this.#inTurn = [...this.#inTurn.filter((other) => other !== lanes), lanes];
  }

  ended(work: Work): void {
    if (this.#active === work) this.#active = undefined;
  }
}

/** One death may be due to a deployment. Where several processes have died over an event, the next may die too. */
function isSuspect({ run }: { readonly run: Run }): boolean {
  return run.takeovers > 1;
}
