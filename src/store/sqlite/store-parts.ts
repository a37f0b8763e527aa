/** The parts of the store, in SQLite: the writer writes, and the app's own connection reads. */
import { setImmediate } from 'node:timers/promises';
import type { AlertStore } from '../alert-store.ts';
import type { AuditStore } from '../audit-store.ts';
import type { CallStore } from '../call-store.ts';
import type { DriftStore } from '../drift-store.ts';
import type { Sequence } from '../event-record.ts';
import type { EventStore } from '../event-store.ts';
import type { FailureStore } from '../failure-store.ts';
import type { HandlerStore } from '../handler-store.ts';
import type { HistoryRow, HistoryStore } from '../history-store.ts';
import type { QuarantineEntry, QuarantineStore } from '../quarantine-store.ts';
import { type ListedCall, callPageOf, namesAmong } from '../shared/call-rows.ts';
import { claimOnEvent } from '../shared/claimed-work.ts';
import { nextCursor, numberIn } from '../shared/cursor.ts';
import { findPage } from '../shared/event-rows.ts';
import { quarantineRow } from './admin/quarantine.ts';
import type { Session } from './connection/session.ts';
import { type ListPosition, listPositionOf } from './query/call-list.ts';

/** How many events a replay requeues in one transaction at most. */
const stretchEvents = 100;
/** How many sequences are gone through at once to count a replay's runs. */
const countedAtOnce = 20_000;

export const alertsOn = (session: Session): AlertStore => ({
  raise: (alert) => session.write('alerts', 'raise', [alert]),
  markUnsent: (name, subject, isReminder) =>
    session.write('alerts', 'markUnsent', [name, subject, isReminder]),
  end: (name, subject) => session.write('alerts', 'end', [name, subject]),
  list: () => session.read(({ alerts }) => alerts.list()),
  deadRuns: (limit) => session.read(({ alerts }) => alerts.deadRuns(limit)),
});

export const auditOn = (session: Session): AuditStore => ({
  begin: (request) => session.write('audit', 'begin', [request]),
  end: (id, now, counts) => session.write('audit', 'end', [id, now, counts]),
  get: (id) => session.read(({ audit }) => audit.get(id)),
  running: () => session.read(({ audit }) => audit.running()),
  advance: (step) => session.write('audit', 'advance', [step]),
  stop: (id, now) => session.write('audit', 'stop', [id, now]),
  list: (page) => session.read(({ audit }) => audit.list(page)),
});

export const driftOn = (session: Session): DriftStore => ({
  add: (rows) => session.write('drift', 'add', [rows]),
  list: () => session.read(({ drift }) => drift.list()),
});

export const failuresOn = (session: Session): FailureStore => ({
  groups: (query) => session.read(({ failures }) => failures.groups(query)),
  named: (ids) => session.read(({ failures }) => failures.named(ids)),
  mute: (id, now) => session.write('failures', 'mute', [id, now]),
  unmute: (id) => session.write('failures', 'unmute', [id]),
});

export const handlersOn = (session: Session): HandlerStore => ({
  pause: (request) => session.write('handlers', 'pause', [request]),
  resume: (handler) => session.write('handlers', 'resume', [handler]),
  erasePause: (handler) => session.write('erasure', 'erasePause', [handler]),
  paused: () => session.read(({ handlers }) => handlers.paused()),
  reserveStarts: (slots) => session.write('handlers', 'reserveStarts', [slots, session.clock.now()]),
  runs: () => session.read(({ handlers }) => handlers.runs()),
  processes: () => session.read(({ processes }) => processes.living()),
});

/** Reads in steps, between which other work can run. `step` returns where the next one begins, if there is more. */
async function* inSteps<Position, Found extends { readonly next: Position | undefined }>(
  first: Position,
  step: (from: Position) => Promise<Found>,
): AsyncGenerator<Found> {
  for (let from: Position | undefined = first; from !== undefined;) {
    const found: Found = await step(from);
    await setImmediate();
    yield found;
    from = found.next;
  }
}

export const historyOn = (session: Session): HistoryStore => ({
  add: (...counted) => session.write('history', 'add', counted),
  /** In several steps: a day has many counts. */
  async list(resolution, since, until, ...which) {
    const step = (from: number) =>
      session.read(({ history }) => history.stretch(resolution, from, until, ...which));
    const rows: HistoryRow[] = [];
    for await (const found of inSteps(since, step)) rows.push(...found.rows);
    return rows;
  },
  backlog: (now) => session.read(({ history }) => history.backlog(now)),
});

export const quarantineOn = (session: Session): QuarantineStore => ({
  keep: (record) => {
    // Copied to a buffer of its own, which can be transferred: the body may be a part of a larger one.
    const body = Uint8Array.from(record.body);
    const options = { isAwaited: true, bytes: body.byteLength, transfer: [body.buffer] };
    return session.write('quarantine', 'keep', [quarantineRow({ ...record, body })], options);
  },
  /** In several steps: authentic deliveries that can't be read are not bounded. */
  async list(filter) {
    const { limit, cursor } = filter;
    const deliveries: QuarantineEntry[] = [];
    const step = (before: number) =>
      session.read(({ quarantine }) => quarantine.search(filter, before, limit - deliveries.length));
    for await (const found of inSteps(numberIn('quarantine', cursor) ?? Number.MAX_SAFE_INTEGER, step)) {
      deliveries.push(...found.deliveries);
      if (deliveries.length >= limit) break;
    }
    const ids = deliveries.map(({ id }) => id);
    return { deliveries, cursor: nextCursor('quarantine', ids, limit) };
  },
  get: (id) => session.read(({ quarantine }) => quarantine.get(id)),
  unauthenticated: () => session.read(({ quarantine }) => quarantine.unauthenticated()),
  release: (id, record) =>
    session.write('quarantine', 'release', [id, record], { bytes: record.body.byteLength }),
  markUnreadable: (id, reason) => session.write('quarantine', 'markUnreadable', [id, reason]),
  discard: (id) => session.write('quarantine', 'discard', [id]),
});

export const callsOn = (session: Session): CallStore => ({
  eventsOf: (callId) => session.read(({ callEvents }) => callEvents.eventsOf(callId)),
  joinsOf: (callId) => session.read(({ callEvents }) => callEvents.joinsOf(callId)),

  /** In several steps, between which other work can run: a filter with few matches has to go through many events. */
  async list(filter) {
    // One more than asked for shows whether there is another page.
    const wanted = filter.limit + 1;
    const found: ListedCall[] = [];
    const step = (from: ListPosition) => {
      filter.signal?.throwIfAborted();
      return session.read(({ listCalls }) => listCalls(filter, from, wanted - found.length));
    };
    for await (const { calls } of inSteps(listPositionOf(filter), step)) {
      found.push(...calls);
      if (found.length >= wanted) break;
    }
    return callPageOf(found, filter.limit);
  },

  async noteSeen(run, events) {
    const { handler, callId = '' } = run;
    const rows = await session.read(({ callEvents }) => callEvents.eventsOf(callId));
    const join = { ...claimOnEvent(run), handler, callId };
    const hasSeenAll = await session.write('joins', 'noteSeen', [join, namesAmong(rows, events)]);
    if (hasSeenAll === undefined) return undefined;
    // If the events have been erased meanwhile, there is nothing left to see.
    return { events: rows, isSettled: hasSeenAll || rows.length === 0 };
  },

  /** Alone: of writes that are sent together, events come first, and this must not find one that arrived after it. */
  async lookBack(join) {
    const after = join.after ?? (await lastBefore(session, join.since));
    if (after === undefined) return undefined;
    session.clockJumps.requestCorrection();
    return session.write('joins', 'lookBack', [{ ...join, after }, session.clock.now()], { isAlone: true });
  },
});

/**
 * The sequence after which the events that arrived since a time begin, if there are any. In several steps, on the app's
 * connection: there may be millions, and the writer would have deliveries wait.
 */
async function lastBefore(session: Session, since: number): Promise<Sequence | undefined> {
  const look = (from: { readonly receivedAt: number; readonly sequence: Sequence }) =>
    session.read(({ callEvents }) => callEvents.lowestSince(from));
  let first = Infinity;
  for await (const { lowest } of inSteps({ receivedAt: since, sequence: 0 }, look))
    first = Math.min(first, lowest ?? Infinity);
  return Number.isFinite(first) ? first - 1 : undefined;
}

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
