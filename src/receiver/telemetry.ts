/**
 * What Ringback reports about itself: one table of log events with their levels and sentences. Each is also published
 * on the diagnostics channel `ringback.<name>`, to which metrics and traces can subscribe.
 *
 * Fields never hold a body, a header value, a phone number, a transcript or a secret.
 */
import { type Channel, channel } from 'node:diagnostics_channel';
import type { Logger } from 'pino';
import { BoundedLines } from '../kit/bounded-lines.ts';
import type { Clock } from '../kit/clock.ts';

type Level = 'debug' | 'info' | 'warn' | 'error';

const logEvents = {
  receiver_started: ['info', 'receiver started'],
  receiver_stopping: ['info', 'receiver stopping: new deliveries are refused, running attempts are finished'],
  receiver_stopped: ['info', 'receiver stopped'],
  https_not_required: ['warn', 'plain HTTP is accepted, which is for development on loopback only'],
  signature_not_checked: [
    'warn',
    'no secrets are set: only the headers of the subscription distinguish the platform from other senders',
  ],
  listening: ['info', 'listening'],
  delivery_misdirected: [
    'warn',
    'a request that looks like a delivery came to another path: compare the URL of the subscription with the path of this server',
  ],
  log_dropped: ['warn', 'log lines were dropped: stdout did not accept them in time'],
  delivery_accepted: ['debug', 'delivery accepted'],
  delivery_duplicate: ['info', 'delivery was a duplicate of a stored event'],
  delivery_quarantined: ['warn', 'delivery is authentic but unreadable, and was quarantined'],
  delivery_refused: ['warn', 'delivery refused'],
  quarantine_dropped: [
    'warn',
    'unauthenticated deliveries were dropped: the quarantine keeps only a limited number of them',
  ],
  quarantine_released: ['info', 'a delivery was released from quarantine'],
  quarantine_reverified: ['info', 'the unauthenticated deliveries in quarantine have been verified again'],
  secret_rotation_suspected: [
    'error',
    'deliveries that look genuine no longer verify, and are kept in quarantine: follow `fix`, then run ringback ' +
      'inbox reverify --yes, or receiver.quarantine.reverify()',
  ],
  drift_seen: ['warn', 'the platform sends something that differs from its documentation'],
  duplicates_failed: ['warn', 'counts of duplicates could not be written and will be tried again'],
  drift_failed: ['warn', 'drift could not be written and will be tried again'],
  database_replaced: [
    'error',
    'the database was deleted or replaced while it was open: nothing more is stored, deliveries get 503, and handlers are stopped; stop this process, put the right files in place, and start it again',
  ],
  wal_missing: [
    'error',
    'the last process did not end cleanly, and its WAL (the file that ends in -wal) is missing: the last writes may be lost, unless another program, such as sqlite3, has closed the database since; find the file, and put it back before the next start',
  ],
  transaction_left_open: [
    'error',
    "a transaction that was begun by hand on the inbox's connection and left open was rolled back: use receiver.database.transaction(() => { … })",
  ],
  delivery_failed: ['error', 'delivery could not be stored'],
  answer_failed: [
    'error',
    'a delivery got no answer, because middleware in front of the receiver threw when it was written: the platform sends it again',
  ],
  refusal_fix: ['warn', 'why deliveries of this kind are refused, and what to do'],
  trace_id_differs: [
    'warn',
    'the trace ids in the body and the header differ; the one in the signed body is used',
  ],
  scheme_pinned: ['info', 'the signature scheme was detected and pinned'],
  event_unhandled: ['info', 'no handler matches this event; it is stored and marked done'],
  event_incomplete: [
    'warn',
    "the payload lacks required fields of its event type, so typed handlers can't take the event, and there is no fallback; it is stored, and only joins count it",
  ],
  event_unreadable: ['error', 'a stored event can no longer be read; it is kept as a dead letter'],
  run_done: ['info', 'run done'],
  run_retry: [
    'warn',
    'run failed and will be retried: its reason is in receiver.events.get(traceId)',
    'ringback inbox event <traceId>',
  ],
  run_dead: [
    'error',
    'run given up: it is kept as a dead letter, and its reason is in receiver.events.get(traceId)',
    'ringback inbox event <traceId>',
  ],
  run_lost: [
    'warn',
    'this process no longer held the run when it ended: another process took it over, it was erased, or its effects ended the transaction',
  ],
  run_failed_after_commit: ['error', 'handler failed after its commit; the run counts as done'],
  commit_failed: [
    'error',
    'a call of ctx.commit wrote nothing, and the outcome of its run does not show that: await ctx.commit, once, before the handler returns',
  ],
  handler_blocking: [
    'warn',
    'a handler blocked the event loop, and no delivery was answered meanwhile; the platform waits one second for an answer: move the work to a worker thread, or await setImmediate() of node:timers/promises between its steps',
  ],
  handler_paused: ['info', 'a handler was paused: its runs wait, in every process of the inbox'],
  handler_resumed: ['info', 'a handler was resumed'],
  bulk_action_failed: ['error', 'a replay or a dismissal was interrupted and will continue'],
  events_replayed: ['info', 'events were requeued to be run again'],
  runs_dismissed: ['info', 'runs were dismissed and will not be run'],
  claims_taken_over: ['info', 'took over the events and runs of a dead or suspended process'],
  no_handlers: [
    'warn',
    'no handlers are registered: events are stored, and wait for a process with handlers',
  ],
  event_name_unknown: [
    'warn',
    'this handler is registered for an event name that is not known; did you mean the one in `meant`?',
  ],
  duration_suspicious: [
    'warn',
    "an option was given as a number, which counts as milliseconds, and is so short that seconds may have been meant: write it with its unit, such as '30s', or '30ms' if it is correct",
  ],
  handler_missing: [
    'warn',
    'stored runs wait for a handler that is not registered: register a handler of that name; if it was renamed, run them under the new name with receiver.events.replay and its option `only`; or dismiss them with receiver.events.dismiss',
    'ringback inbox dismiss --handler <name>',
  ],
  handlers_differ: [
    'warn',
    'another receiver works on this inbox with other handlers, and an event runs only the handlers of the receiver that claims it: register the same handlers in all of them, or give each program an inbox of its own',
  ],
  dispatch_failed: ['error', 'dispatch could not reach the inbox and will try again'],
  retention_cleaned: ['info', 'removed data whose retention is over'],
  retention_failed: ['warn', 'cleaning could not reach the inbox and will try again'],
  alert_raised: ['error', 'an alert was raised: see receiver.alerts, or the page'],
  alert_over: ['info', 'an alert is over'],
  alert_failed: ['warn', 'an alert could not be checked or sent, and will be tried again'],
  calls_reconciled: ['info', 'calls were read back, and their missing events were recorded'],
  call_not_reconciled: ['warn', 'a call could not be read back or recorded: call reconcile again for it'],
  erased: ['info', 'the requested data was erased'],
  api_failed: ['error', "a request of the operators' API could not be answered"],
  secrets_failed: ['error', 'the secrets function failed; the last known secrets are used'],
} as const satisfies Record<string, readonly [level: Level, message: string, command?: string]>;

/** The name of a log event: the field `event` of its line. */
export type LogEvent = keyof typeof logEvents;

/** Every log event, for the documents and the test that compares them. */
export const logEventNames = Object.keys(logEvents) as LogEvent[];

/** The fields that a log line may have besides the name of its event. */
type Fields = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Logs and publishes log events by name. */
export class Telemetry {
  readonly logger: Logger;
  readonly #isInboxSharable: boolean;
  readonly #channels = Object.fromEntries(
    logEventNames.map((name) => [name, channel(`ringback.${name}`)]),
  ) as Record<LogEvent, Channel>;

  /** @param isInboxSharable whether other processes can open the inbox, so that lines may suggest a command that does */
  constructor(logger: Logger, isInboxSharable = false) {
    this.logger = logger;
    this.#isInboxSharable = isInboxSharable;
  }

  /**
   * Logs and publishes a log event. Fields given as a function are computed only if somebody gets the event: every
   * delivery and every run is reported, mostly to nobody.
   */
  report(event: LogEvent, fields: Fields | (() => Fields) = {}): void {
    const [level] = logEvents[event];
    if (!this.#channels[event].hasSubscribers && !this.logger.isLevelEnabled(level)) return;
    const given = typeof fields === 'function' ? fields() : fields;
    this.log(event, given);
    this.publish(event, given);
  }

  /** Publishes a log event on its diagnostics channel, without a line. */
  publish(event: LogEvent, fields: Fields): void {
    const channelOfEvent = this.#channels[event];
    if (channelOfEvent.hasSubscribers) channelOfEvent.publish({ event, ...fields });
  }

  /**
   * Writes the line of a log event, without publishing it. Never throws: if a user's logger throws, a delivery must
   * still be answered, and a run settled.
   */
  log(event: LogEvent, fields: Fields): void {
    const [level, message, command] = logEvents[event] as readonly [Level, string, string?];
    const isForCommand = command !== undefined && this.#isInboxSharable;
    try {
      this.logger[level]({ event, ...fields }, isForCommand ? `${message}, or: ${command}` : message);
    } catch {
      // The logger is the only place to report an error.
    }
  }
}

/** Reports a log event that anybody can cause: its lines are bounded, and the diagnostics channel gets each. */
export class BoundedReports {
  readonly #telemetry: Telemetry;
  readonly #event: LogEvent;
  readonly #lines: BoundedLines;

  constructor(clock: Clock, telemetry: Telemetry, event: LogEvent) {
    this.#telemetry = telemetry;
    this.#event = event;
    this.#lines = new BoundedLines(clock, (fields) => telemetry.log(event, fields));
  }

  /** The lines with the same `common` fields are bounded together; one that stands for several has only these. */
  add(common: BoundedFields, own: BoundedFields = {}): void {
    this.#telemetry.publish(this.#event, { ...common, ...own });
    this.#lines.add(Object.values(common).join(' '), common, own);
  }

  /** Logs what was only counted so far. */
  flush(): void {
    this.#lines.flush();
  }
}

type BoundedFields = Readonly<Record<string, string | number | undefined>>;
