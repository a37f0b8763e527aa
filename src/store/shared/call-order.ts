import { RenewedMap } from '../../kit/churn.ts';
import type { HandlerTerms } from '../claims.ts';
import type { Sequence } from '../event-record.ts';

/** A stored run that is not settled, of an earlier event of the same call. */
export interface OpenRun {
  readonly handler: string;
  /**
   * Whether an attempt of it has begun. A blocked run that a claim finds counts as begun: it was blocked when the order was
   * `strict`, and must not hold up a handler whose order is another now.
   */
  readonly hasBegun: boolean;
}

/** A run that is being stored: it stays open in the inbox, and no claim that was made before can have seen it there. */
interface RunBeingStored extends OpenRun {
  readonly sequence: Sequence;
}

/** The runs that go before a claim. More may be added until `close` is called. */
export interface RunsBefore {
  readonly runs: readonly OpenRun[];
  readonly close: () => void;
}

interface Watched extends RunsBefore {
  readonly sequence: Sequence;
  readonly runs: OpenRun[];
}

/** Whether a handler's run may be placed while these runs of its call, which come before it, are open. */
export function mayComeAfter({ name, order }: HandlerTerms, runs: readonly OpenRun[]): boolean {
  const own = runs.filter(({ handler }) => handler === name);
  if (order === 'strict') return own.length === 0;
  // A run that has failed lets later ones go ahead; one that has not begun goes first.
  return order === 'none' || own.every(({ hasBegun }) => hasBegun);
}

/**
 * Keeps the order of a call where the database can't: between a claim and the moment at which its runs are placed, this process
 * may store earlier runs of the call, which the claim has not seen. An event could otherwise be handled before them.
 */
export class CallOrder {
  readonly #watched = new ListsByCall<Watched>();
  readonly #beingStored = new ListsByCall<RunBeingStored>();

  /** Watches a claim for what goes before it: `found` was seen by the claim itself. */
  watch(callId: string | undefined, sequence: Sequence, found: readonly OpenRun[]): RunsBefore {
    if (callId === undefined) return { runs: found, close: () => {} };
    const beingStored = this.#beingStored.of(callId).filter((run) => run.sequence < sequence);
    const close = () => this.#watched.remove(callId, watched);
    const watched: Watched = { sequence, runs: [...found, ...beingStored], close };
    this.#watched.add(callId, watched);
    return watched;
  }

  /** A run is about to be stored. Returns the function to call when it is in the inbox. */
  storing(callId: string | undefined, run: RunBeingStored): () => void {
    if (callId === undefined) return () => {};
    for (const { sequence, runs } of this.#watched.of(callId)) if (run.sequence < sequence) runs.push(run);
    this.#beingStored.add(callId, run);
    return () => this.#beingStored.remove(callId, run);
  }
}

/** Short lists, each of one call. */
class ListsByCall<Item> {
  readonly #lists = new RenewedMap<string, Item[]>();

  of(callId: string): readonly Item[] {
    return this.#lists.get(callId) ?? [];
  }

  add(callId: string, item: Item): void {
    const list = this.#lists.get(callId);
    if (list) list.push(item);
    else this.#lists.set(callId, [item]);
  }

  remove(callId: string, item: Item): void {
    const list = this.#lists.get(callId);
    const index = list?.indexOf(item) ?? -1;
    if (!list || index < 0) return;
    if (list.length === 1) this.#lists.delete(callId);
    else list.splice(index, 1);
  }
}
