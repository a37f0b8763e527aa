import { setImmediate as turn } from 'node:timers/promises';
import type { CallEventRow } from '../../../calls/timeline.ts';
import { type ListedCall, callPageOf, namesAmong } from '../../shared/call-rows.ts';
import type { CallFilter, CallPage, CallStore, JoinLookBack, JoinView } from '../../call-store.ts';
import type { Sequence } from '../../event-record.ts';
import { type ListPlace, listPlaceOf } from './call-list.ts';
import type { Session } from '../connection/session.ts';

/** Calls and joins in SQLite. */
export class SqliteCalls implements CallStore {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  eventsOf(callId: string): Promise<readonly CallEventRow[]> {
    return this.#session.read(({ callEvents }) => callEvents.eventsOf(callId));
  }

  /** Searches in several steps, between which other work can run: a filter that matches little has to look at much. */
  async list(filter: CallFilter): Promise<CallPage> {
    // One more than asked for tells whether there is another page.
    const wanted = filter.limit + 1;
    const found: ListedCall[] = [];
    let place: ListPlace | undefined = listPlaceOf(filter);
    while (place && found.length < wanted) {
      filter.signal?.throwIfAborted();
      const from: ListPlace = place;
      const look = await this.#session.read(({ listCalls }) =>
        listCalls(filter, from, wanted - found.length),
      );
      found.push(...look.calls);
      place = look.next;
      await turn();
    }
    return callPageOf(found, filter.limit);
  }

  async noteSeen(handler: string, callId: string, events: readonly string[]): Promise<JoinView> {
    const rows = await this.eventsOf(callId);
    const hasSeenAll = await this.#session.write('noteSeen', [handler, callId, namesAmong(rows, events)]);
    // If the events have been erased meanwhile, there is nothing left to see.
    return { events: rows, isSettled: hasSeenAll || rows.length === 0 };
  }

  lookBack(join: JoinLookBack): Promise<Sequence | undefined> {
    this.#session.requestCorrection();
    return this.#session.write('lookBack', [join, this.#session.clock.now()]);
  }
}
