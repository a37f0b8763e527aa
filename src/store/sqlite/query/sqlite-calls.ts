import { setImmediate } from 'node:timers/promises';
import { type ListedCall, callPageOf, namesAmong } from '../../shared/call-rows.ts';
import { claimerOf } from '../../shared/claimed-work.ts';
import type { CallStore } from '../../call-store.ts';
import { type ListPosition, listPositionOf } from './call-list.ts';
import type { Session } from '../connection/session.ts';

/** Calls and joins in SQLite. */
export const callsOn = (session: Session): CallStore => ({
  eventsOf: (callId) => session.read(({ callEvents }) => callEvents.eventsOf(callId)),
  joinsOf: (callId) => session.read(({ callEvents }) => callEvents.joinsOf(callId)),

  /** In several steps, between which other work can run: a filter with few matches has to go through many events. */
  async list(filter) {
    // One more than asked for shows whether there is another page.
    const wanted = filter.limit + 1;
    const found: ListedCall[] = [];
    let position: ListPosition | undefined = listPositionOf(filter);
    while (position && found.length < wanted) {
      filter.signal?.throwIfAborted();
      const from: ListPosition = position;
      const look = await session.read(({ listCalls }) => listCalls(filter, from, wanted - found.length));
      found.push(...look.calls);
      position = look.next;
      await setImmediate();
    }
    return callPageOf(found, filter.limit);
  },

  async noteSeen(run, events) {
    const { sequence, handler, callId = '' } = run;
    const rows = await session.read(({ callEvents }) => callEvents.eventsOf(callId));
    const join = { process: claimerOf(run), sequence, handler, callId };
    const hasSeenAll = await session.write('joins', 'noteSeen', [join, namesAmong(rows, events)]);
    if (hasSeenAll === undefined) return undefined;
    // If the events have been erased meanwhile, there is nothing left to see.
    return { events: rows, isSettled: hasSeenAll || rows.length === 0 };
  },

  lookBack(join) {
    session.clockJumps.requestCorrection();
    return session.write('joins', 'lookBack', [join, session.clock.now()]);
  },
});
