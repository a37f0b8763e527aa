import { z } from 'zod';
import type { Handler, Order } from '../dispatch/handler.ts';
import { configError } from '../errors/errors.ts';
import { type Account, type Audit, accountSchema } from './audit.ts';
import { givenText, parseStrictly } from '../errors/option-problems.ts';
import type { Clock } from '../kit/clock.ts';
import { closest } from '../errors/closest-name.ts';
import { dateOf } from '../kit/time.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type {
  HandlerPause as KeptPause,
  HandlerRuns,
  HandlerStore,
  LivingProcess,
} from '../store/handler-store.ts';

/** Since when a handler is paused, by whom and why. */
export interface HandlerPause {
  readonly since: Date;
  readonly by: string | undefined;
  readonly reason: string | undefined;
}

/** The event patterns and options of a registered handler. Times are in milliseconds. */
export interface HandlerSettings {
  readonly patterns: readonly string[];
  readonly order: Order;
  readonly concurrency: number;
  readonly timeout: number;
  /** How often its attempts may begin, such as `10/s`; undefined if that is unlimited. */
  readonly rate?: string;
  /** Only for joins. */
  readonly join?: { readonly events: readonly string[]; readonly within: number };
}

/** A handler that is registered in a process, is paused, or has unfinished runs. */
export interface HandlerState extends Omit<HandlerRuns, 'handler'> {
  readonly name: string;
  /** Whether a living process has registered it. */
  readonly isRegistered: boolean;
  /** Undefined if it is registered only in other processes. */
  readonly settings: HandlerSettings | undefined;
  /** Undefined unless it is paused. */
  readonly pause: HandlerPause | undefined;
  /**
   * How many of its runs this process has claimed: those that have not begun, and those that are in the handler. Most
   * have no row in the inbox, so those that wait for a handler which is slow, or hangs, are not among `due`. Undefined if
   * it runs only in other processes.
   */
  readonly here: { readonly waiting: number; readonly active: number } | undefined;
}

/** A process that shares the inbox and is not known to be dead. */
export interface ProcessState extends Omit<LivingProcess, 'enteredAt' | 'heartbeatAt'> {
  /** When it opened the inbox. */
  readonly startedAt: Date | undefined;
  /** Only on Postgres: on SQLite, heartbeats are counted, and an idle process without company writes none. */
  readonly heartbeatAt: Date | undefined;
}

/** The handlers of an inbox, and the processes that run them. */
export interface HandlerStates {
  /** Sorted by name. */
  readonly handlers: readonly HandlerState[];
  readonly processes: readonly ProcessState[];
}

interface InboxHandlersParts {
  readonly store: HandlerStore;
  readonly audit: Audit;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** The handlers that are registered here. */
  readonly registered: () => readonly Handler[];
  /** Whether this process runs its handlers: `ringback page` registers them only for replays. */
  readonly runsHere: () => boolean;
  /** Undefined for a handler that is not registered here. */
  readonly claimedHere: (name: string) => HandlerState['here'];
  /** Makes this process apply a pause or resume at once. */
  readonly onChanged: () => Promise<void>;
  /** @throws RingbackError unless the receiver runs */
  readonly requireStarted: (method: string) => void;
}

const nameSchema = z.strictObject({ name: givenText });

/** The handlers of the inbox: list, pause and resume them. */
export class InboxHandlers {
  readonly #parts: InboxHandlersParts;

  /** @internal */
  constructor(parts: InboxHandlersParts) {
    this.#parts = parts;
  }

  /**
   * Every handler that a living process has, that is paused, or that has unfinished runs, and the living processes.
   *
   * @throws RingbackError `receiver_not_started`
   * @example (await receiver.handlers.list()).handlers.filter(({ pause }) => pause) // those that are paused
   */
  async list(): Promise<HandlerStates> {
    const { store, registered, runsHere, claimedHere, requireStarted } = this.#parts;
    requireStarted('handlers.list()');
    const [paused, runs, processes] = await Promise.all([store.paused(), store.runs(), store.processes()]);
    const own = registered();
    const ownNames = own.map(({ name }) => name);
    const elsewhere = processes.flatMap(({ handlers }) => handlers);
    const alive = new Set([...(runsHere() ? ownNames : []), ...elsewhere]);
    const named = [
      ...ownNames,
      ...elsewhere,
      ...runs.map(({ handler }) => handler),
      ...paused.map(({ handler }) => handler),
    ];
    const pauses = new Map(paused.map((kept) => [kept.handler, pauseOf(kept)]));
    const handlers = [...new Set(named)].toSorted().map((name) => ({
      name,
      ...countsOf(runs.find(({ handler }) => handler === name)),
      isRegistered: alive.has(name),
      settings: settingsOf(own.find((handler) => handler.name === name)),
      pause: pauses.get(name),
      here: runsHere() ? claimedHere(name) : undefined,
    }));
    return { handlers, processes: processes.map(processState) };
  }

  /**
   * @internal Whether each handler is paused that is registered here or in another process, or paused. Unlike `list`,
   * it counts no runs: metrics are read every few seconds, and thousands of dead ones would be counted each time.
   */
  async whichArePaused(): Promise<ReadonlyMap<string, boolean>> {
    const { store, registered, requireStarted } = this.#parts;
    requireStarted('handlers.whichArePaused()');
    const [paused, processes] = await Promise.all([store.paused(), store.processes()]);
    const names = [...registered().map(({ name }) => name), ...processes.flatMap(({ handlers }) => handlers)];
    return new Map([
      ...names.map((name) => [name, false] as const),
      ...paused.map(({ handler }) => [handler, true] as const),
    ]);
  }

  /**
   * Pauses a handler in every process of the inbox, across restarts, until it is resumed: its runs wait, and
   * deliveries are accepted as before. Active runs finish. Other processes follow within two seconds. Resolves to the
   * pause in effect, which is the earlier one if the handler was already paused.
   *
   * @throws ConfigError `handler_unknown` for a handler that no process has registered and that has no unfinished run;
   * RingbackError `receiver_not_started`
   * @example await receiver.handlers.pause('crm-sync', { by: 'ann', reason: 'the CRM is being moved' });
   */
  async pause(name: string, options: Account = {}): Promise<HandlerPause> {
    const { store, audit, clock, telemetry, requireStarted, onChanged } = this.#parts;
    requireStarted('handlers.pause()');
    const handler = nameOf(name, 'handlers.pause');
    const { by, reason } = parseStrictly(accountSchema, options, 'handlers.pause');
    const before = await this.#pauseOfKnown(handler);
    return audit.record({ action: 'pause', what: handler, by, reason }, async () => {
      const holding = await store.pause({ handler, since: clock.now(), by, reason });
      await onChanged();
      if (!before) telemetry.report('handler_paused', { handler });
      return { result: pauseOf(holding) };
    });
  }

  /**
   * Resumes a paused handler. Resolves to whether it was paused.
   *
   * @throws RingbackError `receiver_not_started`
   * @example await receiver.handlers.resume('crm-sync');
   */
  async resume(name: string, options: Account = {}): Promise<boolean> {
    const { store, audit, telemetry, requireStarted, onChanged } = this.#parts;
    requireStarted('handlers.resume()');
    const handler = nameOf(name, 'handlers.resume');
    const account = parseStrictly(accountSchema, options, 'handlers.resume');
    return audit.record({ ...account, action: 'resume', what: handler }, async () => {
      const wasPaused = await store.resume(handler);
      await onChanged();
      if (wasPaused) telemetry.report('handler_resumed', { handler });
      return { result: wasPaused };
    });
  }

  /**
   * The handler's pause, if it is paused. Refuses an unknown name: with a misspelled one, an operator would believe that
   * the intended handler is paused.
   */
  async #pauseOfKnown(name: string): Promise<HandlerPause | undefined> {
    const { handlers } = await this.list();
    const known = handlers.map((handler) => handler.name);
    const fix =
      'A handler is known while a process that has registered it runs, or while one of its runs is not done.';
    requireKnown(name, known, 'it is paused', fix);
    return handlers.find((handler) => handler.name === name)?.pause;
  }
}

/** @throws ConfigError `handler_unknown` when `name` is given and is not one of `known` */
export function requireKnown(
  name: string | undefined,
  known: readonly string[],
  before: string,
  fix?: string,
): void {
  if (name === undefined || known.includes(name)) return;
  const meant = closest(name, known);
  throw configError('handler_unknown', { name, before, meant, known: known.join(', '), fix });
}

function nameOf(name: string, method: string): string {
  return parseStrictly(nameSchema, { name }, method).name;
}

function countsOf(runs: HandlerRuns | undefined): Omit<HandlerRuns, 'handler'> {
  const { due = 0, running = 0, blocked = 0, dead = 0 } = runs ?? {};
  return { due, running, blocked, dead };
}

function settingsOf(handler: Handler | undefined): HandlerSettings | undefined {
  if (!handler) return undefined;
  const { patterns, order, concurrency, timeout, rate, join } = handler;
  const settings = { patterns, order, concurrency, timeout, ...(rate && { rate: rate.text }) };
  return join ? { ...settings, join: { events: join.events, within: join.within } } : settings;
}

function processState({ enteredAt, heartbeatAt, ...process }: LivingProcess): ProcessState {
  return { ...process, startedAt: dateOf(enteredAt), heartbeatAt: dateOf(heartbeatAt) };
}

function pauseOf({ since, by, reason }: KeptPause): HandlerPause {
  return { since: new Date(since), by, reason };
}
