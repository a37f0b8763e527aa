/** What is kept for operators, in SQLite: the writer changes it, and the app's own connection reads it. */
import type { AlertStore } from '../alert-store.ts';
import type { AuditStore } from '../audit-store.ts';
import type { DriftStore } from '../drift-store.ts';
import type { FailureStore } from '../failure-store.ts';
import type { HandlerStore } from '../handler-store.ts';
import type { HistoryStore } from '../history-store.ts';
import type { QuarantineStore } from '../quarantine-store.ts';
import type { Access } from './access.ts';
import { quarantineRow } from './admin/keep-delivery.ts';

export const alertsOn = (access: Access): AlertStore => ({
  raise: (alert) => access.write('raiseAlert', [alert]),
  untold: (name, subject) => access.write('untoldAlert', [name, subject]),
  end: (name, subject) => access.write('endAlert', [name, subject]),
  list: () => access.read(({ alerts }) => alerts.list()),
  deadRuns: (limit) => access.read(({ alerts }) => alerts.deadRuns(limit)),
});

export const auditOn = (access: Access): AuditStore => ({
  begin: (request) => access.write('beginAudit', [request]),
  end: (id, now, counts) => access.write('endAudit', [id, now, counts]),
  get: (id) => access.read(({ audit }) => audit.get(id)),
  running: () => access.read(({ audit }) => audit.running()),
  advance: (step) => access.write('advanceAudit', [step]),
  stop: (id, now) => access.write('stopAudit', [id, now]),
  list: (page) => access.read(({ audit }) => audit.list(page)),
});

export const driftOn = (access: Access): DriftStore => ({
  add: (rows) => access.write('addDrift', [rows]),
  list: () => access.read(({ drift }) => drift.list()),
});

export const failuresOn = (access: Access): FailureStore => ({
  groups: (query) => access.read(({ failures }) => failures.groups(query)),
  named: (ids) => access.read(({ failures }) => failures.named(ids)),
  mute: (id, now) => access.write('muteGroup', [id, now]),
  unmute: (id) => access.write('unmuteGroup', [id]),
});

export const handlersOn = (access: Access): HandlerStore => ({
  pause: (pause) => access.write('pauseHandler', [pause]),
  resume: (handler) => access.write('resumeHandler', [handler]),
  erasePause: (handler) => access.write('erasePause', [handler]),
  paused: () => access.read(({ handlers }) => handlers.paused()),
  reserveStarts: (slots) => access.write('reserveStarts', [slots, access.clock.now()]),
  runs: () => access.read(({ handlers }) => handlers.runs()),
  processes: () => access.read(({ processes }) => processes.living()),
});

export const historyOn = (access: Access): HistoryStore => ({
  add: (at, counts, mayRemove) => access.write('addHistory', [at, counts, mayRemove]),
  list: (resolution, since, until) => access.read(({ history }) => history.list(resolution, since, until)),
  backlog: (now) => access.read(({ history }) => history.backlog(now)),
});

export const quarantineOn = (access: Access): QuarantineStore => ({
  keep: (record) => {
    // A buffer of its own: the body may be a part of a large one, all of which would be copied.
    const body = Uint8Array.from(record.body);
    const limits = { isAwaited: true, bytes: body.byteLength, transfer: [body.buffer] };
    return access.write('keepDelivery', [quarantineRow({ ...record, body })], limits);
  },
  list: (filter) => access.read(({ quarantine }) => quarantine.list(filter)),
  get: (id) => access.read(({ quarantine }) => quarantine.get(id)),
  unauthenticated: () => access.read(({ quarantine }) => quarantine.unauthenticated()),
  release: (id, record) => access.write('release', [id, record], { bytes: record.body.byteLength }),
  markUnreadable: (id, reason) => access.write('markUnreadable', [id, reason]),
  discard: (id) => access.write('discard', [id]),
});
