import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Handler } from '../../dispatch/handler.ts';
import type { Registry } from '../../dispatch/registry.ts';
import { readBytes } from '../../events/read-event.ts';
import { systemClock } from '../../kit/clock.ts';
import { requireKnown } from '../../operate/handlers.ts';
import { createReceiver, internalsOf } from '../../receiver/receiver.ts';
import { type EventFilter, type StoredEvent, joinKey } from '../../store/event-store.ts';
import { copyInbox, temporaryFix } from '../../store/sqlite/admin/copy-inbox.ts';
import { SqliteStore } from '../../store/sqlite/sqlite-store.ts';
import { loadApp } from '../app/app-file.ts';
import { readEnvironment } from '../environment.ts';
import { logBesideResult } from '../log.ts';
import { Past, type PastEvent } from './past.ts';
import { type HandlerReport, Tally } from './tally.ts';
import { type TrialParts, tryRun } from './trial.ts';

export interface BacktestRequest {
  /** The file of the inbox, which is copied and not changed. */
  readonly from: string;
  readonly folder: string;
  readonly app: string;
  readonly handler?: string | undefined;
  readonly filter: Pick<EventFilter, 'since' | 'until' | 'eventName'>;
}

export interface BacktestReport {
  readonly events: number;
  /** How many of them can't be read within the app's limits. */
  readonly unreadable: number;
  readonly handlers: readonly HandlerReport[];
  /** Handlers that ran originally and aren't registered now. */
  readonly gone: readonly string[];
}

/** A stand-in: nothing is authenticated here. */
const noSecret = 'whsec_stand-in';

/**
 * Runs the handlers of an app file over the events of a copy of the inbox, one by one in the order of their recording.
 * `onRun` is called before each run.
 */
export async function backtest(
  { from, folder, app, handler, filter }: BacktestRequest,
  onRun: (handler: string, traceId: string) => void,
): Promise<BacktestReport> {
  const { options, register } = await loadApp(app);
  const copy = join(folder, 'ringback.db');
  copyInbox(from, copy, temporaryFix);
  const store = new SqliteStore(copy, systemClock);
  const logger = logBesideResult(readEnvironment());
  const receiver = createReceiver({ ...options, secrets: noSecret, database: store, logger });
  await register(receiver);
  const {
    lifecycle,
    parts: { registry, decoder },
  } = internalsOf(receiver);
  const registered = registry.all.map(({ name }) => name);
  requireKnown(handler, registered, 'it is backtested');
  await lifecycle.openInbox();
  try {
    const past = await Past.read(store, filter.since, filter.until);
    const chosen = registry.all.filter(({ name }) => handler === undefined || name === handler);
    const tallies = new Map(chosen.map((one) => [one.name, new Tally(one)]));
    const trials = new Backtest({ store, decoder, logger, registry, past, tallies, onRun });
    const counts = await trials.runAll(filter);
    const gone = handler === undefined ? past.handlers.filter((name) => !registered.includes(name)) : [];
    return { ...counts, handlers: [...tallies.values()].map((tally) => tally.report()), gone };
  } finally {
    await receiver.stop();
  }
}

interface BacktestParts extends TrialParts {
  readonly registry: Pick<Registry, 'route'>;
  readonly past: Past;
  readonly tallies: ReadonlyMap<string, Tally>;
  readonly onRun: (handler: string, traceId: string) => void;
}

class Backtest {
  readonly #parts: BacktestParts;
  readonly #joined = new Set<string>();

  constructor(parts: BacktestParts) {
    this.#parts = parts;
  }

  async runAll(filter: BacktestRequest['filter']): Promise<Pick<BacktestReport, 'events' | 'unreadable'>> {
    const { store, decoder, registry } = this.#parts;
    const upTo = await store.events.lastSequence();
    let [events, unreadable] = [0, 0];
    for (let after = 0; after < upTo;) {
      const stretch = await store.events.stretch(filter, after, upTo);
      after = stretch.reached;
      for (const event of stretch.events) {
        events += 1;
        const reading = await readBytes(decoder, event);
        if (reading.ok) await this.#run(event, registry.route(reading.event));
        else unreadable += 1;
      }
    }
    return { events, unreadable };
  }

  async #run(event: StoredEvent, handlers: readonly Handler[]): Promise<void> {
    const { past, tallies, onRun } = this.#parts;
    const { traceId } = event;
    for (const handler of handlers) {
      const tally = tallies.get(handler.name);
      if (!tally || (handler.join && !this.#isFirst(handler, event))) continue;
      onRun(handler.name, traceId);
      const trial = await tryRun(handler, event, this.#parts);
      // An unhandled rejection of the handler ends the process in the next turn, which must be while this run is the
      // current one.
      await setImmediate();
      tally.add(trial, past.endingOf(handler.name, await this.#eventsOf(handler, event)), traceId);
    }
  }

  /** Whether this is the join's first run for the call; a join runs once per call. */
  #isFirst({ name: handler }: Handler, { callId }: StoredEvent): boolean {
    const key = joinKey({ handler, callId });
    if (this.#joined.has(key)) return false;
    this.#joined.add(key);
    return true;
  }

  /** The events that may have the handler's run: those that a join waits for, else only the event itself. */
  async #eventsOf({ join: terms }: Handler, { traceId, callId }: StoredEvent): Promise<PastEvent[]> {
    const { events, calls } = this.#parts.store;
    const rows = terms && callId !== undefined ? await calls.eventsOf(callId) : [];
    const awaited = rows.filter(({ eventName }) => terms?.events.includes(eventName));
    const traceIds = terms ? awaited.map((row) => row.traceId) : [traceId];
    const found: PastEvent[] = [];
    for (const id of traceIds) {
      const event = await events.get(id);
      // Without its bytes: a call may have very many events.
      if (event) found.push({ runs: event.runs, state: event.state, receivedAt: event.receivedAt });
    }
    return found;
  }
}
