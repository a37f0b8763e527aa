import { RenewedMap } from '../../kit/collections.ts';
import type { Sequence } from '../event-record.ts';
import type { OpenRun } from './found-work.ts';

/** An open run that is being stored: a claim made before that has not seen it in the inbox. */
interface RunBeingStored extends OpenRun {
  readonly sequence: Sequence;
}

/** The runs that go before a claim. More may be added until `close` is called. */
export interface RunsBefore {
  readonly runs: readonly OpenRun[];
  readonly close: () => void;
}

/** The runs that are collected for a claim on this event. */
interface Watched {
  readonly sequence: Sequence;
  readonly runs: OpenRun[];
}

/**
 * Keeps the order of a call where the database can't. Between a claim and the placing of its runs, this process may
 * store earlier runs of the call. The claim has not seen them, and its event could be handled before them.
 */
export class CallOrder {
  readonly #watched = new ListsByCall<Watched>();
  readonly #beingStored = new ListsByCall<RunBeingStored>();

  /** Collects the runs that go before a claim, beginning with `found`, those that the claim itself has seen. */
  watch(callId: string | undefined, sequence: Sequence, found: readonly OpenRun[]): RunsBefore {
    if (callId === undefined) return { runs: found, close: () => {} };
    const beingStored = this.#beingStored.of(callId).filter((run) => run.sequence < sequence);
    const runs = [...found, ...beingStored];
    return { runs, close: this.#watched.add(callId, { sequence, runs }) };
  }

  /** Call before storing a run. Returns the function to call when it is in the inbox. */
  storing(callId: string | undefined, run: RunBeingStored): () => void {
    if (callId === undefined) return () => {};
    for (const { sequence, runs } of this.#watched.of(callId)) if (run.sequence < sequence) runs.push(run);
    return this.#beingStored.add(callId, run);
  }
}

/** A short list for each call. */
class ListsByCall<Item> {
  readonly #lists = new RenewedMap<string, Item[]>();

  of(callId: string): readonly Item[] {
    return this.#lists.get(callId) ?? [];
  }

  /** Returns the function that removes the item again. */
  add(callId: string, item: Item): () => void {
    const others = this.#lists.get(callId);
    if (others) others.push(item);
    else this.#lists.set(callId, [item]);
    return () => {
      const list = this.#lists.get(callId);
      const index = list?.indexOf(item) ?? -1;
      if (!list || index < 0) return;
      if (list.length === 1) this.#lists.delete(callId);
      else list.splice(index, 1);
    };
  }
}
