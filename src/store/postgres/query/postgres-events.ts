import type { EventStore } from '../../event-store.ts';
import { findPage } from '../../shared/event-rows.ts';
import type { Session } from '../connection/session.ts';
import { dismiss, wouldDismiss } from './dismissals.ts';
import { findEvents } from './event-search.ts';
import { eventWithTraceId, lastSequence, stretchOf, summariesOf } from './kept-events.ts';
import { replayed, requeue, wouldRequeue } from './replays.ts';
import { addDuplicates } from '../work/duplicates.ts';

/** How many events a replay requeues in one transaction at most. */
const stretchEvents = 100;

/** Events in Postgres. */
export const eventsOn = (session: Session): EventStore => ({
  get: (traceId) => eventWithTraceId(session, traceId),

  async list(filter, page) {
    const { sequences, cursor } = await findPage(
      page,
      () => lastSequence(session),
      (range) => findEvents(session, filter, range),
    );
    return { events: await summariesOf(session, sequences), cursor };
  },

  addDuplicates: (seen) => addDuplicates(session, seen),

  lastSequence: () => lastSequence(session),

  async stretch(filter, after, upTo) {
    const range = { from: after + 1, to: upTo, limit: stretchEvents, latestFirst: false };
    const { sequences, reached } = await findEvents(session, filter, range);
    return stretchOf(session, sequences, reached);
  },

  wouldRequeue: (step) => session.write((transaction) => wouldRequeue(transaction, step)),
  requeue: (step) => session.write((transaction) => requeue(transaction, step)),
  wouldDismiss: (step) => session.write((transaction) => wouldDismiss(transaction, step)),
  dismiss: (step) => session.write((transaction) => dismiss(transaction, step)),
  replayed: (replay) => replayed(session, replay),
});
