import { setImmediate as turn } from 'node:timers/promises';
import type { EventFilter, EventStore } from '../../event-store.ts';
import type { Sequence } from '../../event-record.ts';
import { findPage } from '../../shared/event-rows.ts';
import type { Statements } from '../connection/statements.ts';
import type { Session } from '../connection/session.ts';

/** How many events a replay requeues in one transaction at most. */
const stretchEvents = 100;
/** How many events a replay looks up at once, because a look-up may go through all dead letters, or a whole call. */
const lookEvents = 20_000;

/** Events that were found for a replay, and not returned yet. */
interface Ahead {
  /** Where the replay stands, and where it ends. */
  readonly after: Sequence;
  readonly upTo: Sequence;
  readonly sequences: readonly Sequence[];
  /** The look-up has gone through every event up to this one. */
  readonly reached: Sequence;
}

/** Events in SQLite. */
export function eventsOn(session: Session): EventStore {
  /** By the filter object of each replay. */
  const allAhead = new WeakMap<EventFilter, Ahead>();

  const lastSequence = () => session.read(({ events }) => events.lastSequence());

  /** The rest of the last look-up, if this call continues it. */
  const aheadOf = (filter: EventFilter, after: Sequence, upTo: Sequence): Ahead | undefined => {
    const ahead = allAhead.get(filter);
    return ahead?.after === after && ahead.upTo === upTo && ahead.sequences.length > 0 ? ahead : undefined;
  };

  return {
    get: (traceId) => session.read(({ events }) => events.get(traceId)),

    /** In several steps, between which other work can run: a filter with few matches has to go through many events. */
    async list(filter, page) {
      const { sequences, cursor } = await findPage(page, lastSequence, async (range) => {
        const found = await session.read(({ findEvents }) => findEvents(filter, range));
        await turn();
        return found;
      });
      return { events: await session.read(({ events }) => events.summaries(sequences)), cursor };
    },

    addDuplicates: (seen) => session.write('addDuplicates', [seen]),
    lastSequence,

    async stretch(filter, after, upTo) {
      await turn();
      return session.read(({ events, findEvents }) => {
        const ahead = aheadOf(filter, after, upTo) ?? lookAhead(findEvents, filter, after, upTo);
        const next = ahead.sequences.slice(0, stretchEvents);
        const isLast = next.length === ahead.sequences.length;
        const stretch = events.stretch(next, isLast ? ahead.reached : (next.at(-1) ?? ahead.reached));
        allAhead.set(filter, restOf(ahead, stretch.reached));
        return stretch;
      });
    },

    wouldRequeue: (step) => session.read(({ replays }) => replays.wouldRequeue(step)),
    requeue(step) {
      session.requestCorrection();
      return session.write('replay', [step]);
    },
    wouldDismiss: (step) => session.read(({ dismissals }) => dismissals.wouldDismiss(step)),
    dismiss: (step) => session.write('dismiss', [step]),

    /** In several steps: no index leads to the runs of a replay, so this goes through all stored runs. */
    async replayed(replay) {
      const last = await lastSequence();
      const sum = { done: 0, dead: 0, open: 0 };
      for (let from = 1; from <= last; from += lookEvents) {
        const range = { from, to: from + lookEvents - 1 };
        const found = await session.read(({ replays }) => replays.countIn(replay, range));
        sum.done += found.done;
        sum.dead += found.dead;
        sum.open += found.open;
        await turn();
      }
      return sum;
    },
  };
}

/**
 * Looks up the next events of a replay. They may change before they are returned, but `requeue` decides on each run
 * anew.
 */
function lookAhead(
  findEvents: Statements['findEvents'],
  filter: EventFilter,
  after: Sequence,
  upTo: Sequence,
): Ahead {
  const range = { from: after + 1, to: upTo, limit: lookEvents, latestFirst: false };
  return { after, upTo, ...findEvents(filter, range) };
}

function restOf({ sequences, ...ahead }: Ahead, after: Sequence): Ahead {
  const next = sequences.findIndex((sequence) => sequence > after);
  return { ...ahead, after, sequences: next < 0 ? [] : sequences.slice(next) };
}
