/** The operators' parts of the store, in SQLite: the writer writes, and the app's own connection reads. */
import { setImmediate as turn } from 'node:timers/promises';
import type { AlertStore } from '../alert-store.ts';
import type { AuditStore } from '../audit-store.ts';
import type { DriftStore } from '../drift-store.ts';
import type { FailureStore } from '../failure-store.ts';
import type { HandlerStore } from '../handler-store.ts';
import type { HistoryRow, HistoryStore } from '../history-store.ts';
import type { QuarantineEntry, QuarantineStore } from '../quarantine-store.ts';
import { cursorAfter, numberIn } from '../shared/cursor.ts';
import type { Session } from './connection/session.ts';
import { quarantineRow } from './admin/keep-delivery.ts';

export const alertsOn = (session: Session): AlertStore => ({
  raise: (alert) => session.write('alerts', 'raise', [alert]),
  markUnsent: (name, subject) => session.write('alerts', 'markUnsent', [name, subject]),
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
  pause: (pause) => session.write('handlers', 'pause', [pause]),
  resume: (handler) => session.write('handlers', 'resume', [handler]),
  erasePause: (handler) => session.write('erasure', 'erasePause', [handler]),
  paused: () => session.read(({ handlers }) => handlers.paused()),
  reserveStarts: (slots) => session.write('handlers', 'reserveStarts', [slots, session.clock.now()]),
  runs: () => session.read(({ handlers }) => handlers.runs()),
  processes: () => session.read(({ processes }) => processes.living()),
});

export const historyOn = (session: Session): HistoryStore => ({
  add: (...counted) => session.write('history', 'add', counted),
  /** In several steps: a day has many counts. */
  async list(resolution, since, until, ...which) {
    const rows: HistoryRow[] = [];
    for (let from: number | undefined = since; from !== undefined;) {
      const first: number = from;
      const found = await session.read(({ history }) => history.stretch(resolution, first, until, ...which));
      rows.push(...found.rows);
      from = found.next;
      await turn();
    }
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
    let before: number | undefined = numberIn('quarantine', cursor) ?? Number.MAX_SAFE_INTEGER;
    while (before !== undefined && deliveries.length < limit) {
      const from: number = before;
      const left = limit - deliveries.length;
      const found = await session.read(({ quarantine }) => quarantine.search(filter, from, left));
      deliveries.push(...found.deliveries);
      before = found.next;
      await turn();
    }
    const last = deliveries.length === limit ? deliveries.at(-1) : undefined;
    return { deliveries, cursor: last && cursorAfter('quarantine', last.id) };
  },
  get: (id) => session.read(({ quarantine }) => quarantine.get(id)),
  unauthenticated: () => session.read(({ quarantine }) => quarantine.unauthenticated()),
  release: (id, record) =>
    session.write('quarantine', 'release', [id, record], { bytes: record.body.byteLength }),
  markUnreadable: (id, reason) => session.write('quarantine', 'markUnreadable', [id, reason]),
  discard: (id) => session.write('quarantine', 'discard', [id]),
});
