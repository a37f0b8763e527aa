import { setImmediate } from 'node:timers/promises';
import type { EventStore } from '../../event-store.ts';
import { findPage } from '../../shared/event-rows.ts';
import type { Session } from '../connection/session.ts';

/** How many events a replay requeues in one transaction at most. */
const stretchEvents = 100;
/** How many sequences are gone through at once to count a replay's runs. */
const countedAtOnce = 20_000;

/** Events in SQLite. */
export function eventsOn(session: Session): EventStore {
  const lastSequence = () => session.read(({ events }) => events.lastSequence());

  return {
    get: (traceId) => session.read(({ events }) => events.get(traceId)),

    /** In several steps, between which other work can run: a filter with few matches has to go through many events. */
    async list(filter, page) {
      const { sequences, cursor } = await findPage(page, lastSequence, async (range) => {
        const found = await session.read(({ findEvents }) => findEvents(filter, range));
        await setImmediate();
        return found;
      });
      return { events: await session.read(({ events }) => events.summaries(sequences)), cursor };
    },

    addDuplicates: (seen) => session.write('duplicates', 'add', [seen]),
    lastSequence,

    async stretch(filter, after, upTo) {
      await setImmediate();
      return session.read(({ events, findEvents }) => {
        const range = { from: after + 1, to: upTo, limit: stretchEvents, latestFirst: false };
        const { sequences, reached } = findEvents(filter, range);
        return events.stretch(sequences, reached);
      });
    },

    wouldRequeue: (step) => session.read(({ replays }) => replays.wouldRequeue(step)),
    requeue(step) {
      session.clockJumps.requestCorrection();
      return session.write('replays', 'requeue', [step]);
    },
    wouldDismiss: (step) => session.read(({ dismissals }) => dismissals.wouldDismiss(step)),
    dismiss: (step) => session.write('dismissals', 'dismiss', [step]),

    /** In several steps: no index leads to the runs of a replay, so this goes through all stored runs. */
    async replayed(replay) {
      const last = await lastSequence();
      const sum = { done: 0, dead: 0, open: 0 };
      for (let from = 1; from <= last; from += countedAtOnce) {
        const range = { from, to: from + countedAtOnce - 1 };
        const found = await session.read(({ replays }) => replays.countIn(replay, range));
        sum.done += found.done;
        sum.dead += found.dead;
        sum.open += found.open;
        await setImmediate();
      }
      return sum;
    },
  };
}
