import type { Run } from '../handling.ts';

/**
 * Where processes have died over an event, its runs begin one at a time: only the one that ends the next process is to be
 * blamed. Of the handlers' lanes each has its turn: one that is slow must not keep its siblings from all that is suspect.
 */
export class SuspectRuns<Work extends { readonly run: Run }, Lanes> {
  #inTurn: readonly Lanes[];
  /** The active run over which a process may have died. */
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

/** One death may be a deployment's; of what several processes died over, the next may die too. */
function isSuspect({ run }: { readonly run: Run }): boolean {
  return run.takeovers > 1;
}
