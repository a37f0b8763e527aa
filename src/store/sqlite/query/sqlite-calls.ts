import { setImmediate as turn } from 'node:timers/promises';
import type { CallEventRow } from '../../../calls/timeline.ts';
import type {
  CallFilter,
  CallPage,
  CallStore,
  JoinArrival,
  JoinLookBack,
  JoinView,
} from '../../call-store.ts';
import type { Sequence, Settled } from '../../run-key.ts';
import { type ListedCall, type ListPlace, listPlaceOf } from './call-list.ts';
import type { WriteLimits } from '../writer/commit-group.ts';
import type { OpenInbox } from '../connection/open-inbox.ts';

/** How a part of the store reads and writes. */
export interface Access {
  /** Reads at once, and everything as it was at one moment; in WAL mode a reader never waits. */
  read<T>(operation: (inbox: OpenInbox) => T): Promise<T>;
  /** Does at once what can't be done within a transaction. */
  outside<T>(operation: (inbox: OpenInbox) => T): Promise<T>;
  /** Writes in the next group commit. */
  write<T>(operation: (inbox: OpenInbox) => T, limits?: WriteLimits): Promise<T>;
}

/** Calls and joins in SQLite. */
export class SqliteCalls implements CallStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  eventsOf(callId: string): Promise<readonly CallEventRow[]> {
    return this.#access.read(({ callEvents }) => callEvents.eventsOf(callId));
  }

  /** Searches in several steps, between which other work can run: a filter that matches little has to look at much. */
  async list(filter: CallFilter): Promise<CallPage> {
    // One more than asked for tells whether there is another page.
    const wanted = filter.limit + 1;
    const found: ListedCall[] = [];
    let place: ListPlace | undefined = listPlaceOf(filter);
    while (place && found.length < wanted) {
      const from: ListPlace = place;
      const look = await this.#access.read(({ listCalls }) => listCalls(filter, from, wanted - found.length));
      found.push(...look.calls);
      place = look.next;
      await turn();
    }
    const shown = found.slice(0, filter.limit);
    const last = found.length > filter.limit ? shown.at(-1) : undefined;
    return { calls: shown.map(({ call }) => call), cursor: last && String(last.sequence) };
  }

  arrive(arrival: JoinArrival): Promise<Settled> {
    return this.#access.write(({ joins }) => joins.arrive(arrival));
  }

  see(handler: string, callId: string, events: readonly string[]): Promise<JoinView> {
    return this.#access.write(({ joins }) => joins.see(handler, callId, events));
  }

  lookBack(join: JoinLookBack): Promise<Sequence | undefined> {
    return this.#access.write(({ joins }) => joins.lookBack(join));
  }
}
