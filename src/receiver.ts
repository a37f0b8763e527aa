import type { IncomingMessage, ServerResponse } from 'node:http';
import { Dispatcher } from './dispatch/dispatcher.ts';
import { Registry } from './dispatch/registry.ts';
import { route } from './dispatch/route.ts';
import { configError, ringbackError } from './errors.ts';
import type { EventOf } from './events/event-types.ts';
import { type EventPattern, isKnownEventName } from './events/names.ts';
import { type Middleware, middleware } from './http/express.ts';
import { fetchHandler } from './http/fetch.ts';
import { nodeHandler } from './http/node.ts';
import { Authenticator } from './intake/authenticate.ts';
import { Calls } from './inbox/calls.ts';
import { DriftLedger } from './inbox/drift.ts';
import { InboxEvents } from './inbox/events.ts';
import { type Erased, Erasure, type ErasureTarget } from './inbox/erasure.ts';
import { Quarantine } from './inbox/quarantine.ts';
import { Retention } from './inbox/retention.ts';
import { Intake, type IntakeParts } from './intake/intake.ts';
import { Recorder } from './intake/record.ts';
import type { Clock } from './kit/clock.ts';
import { type Duration, parseDuration } from './kit/duration.ts';
import type { Handler, InboxDatabase, JoinedCall, RunContext } from './handling.ts';
import type { CallEvent, Delivery, Reply } from './model.ts';
import {
  type HandlerOptions,
  type JoinOptions,
  type ReceiverOptions,
  type ResolvedOptions,
  resolveOptions,
} from './options.ts';
import { SecretSource } from './signature/secret-source.ts';
import { SqliteStore } from './store/sqlite/sqlite-store.ts';
import type { Store, StoreCounts } from './store/store.ts';
import { Telemetry } from './telemetry.ts';

/** A function that handles the events of some names. */
export type EventHandler<Names extends EventPattern | readonly EventPattern[]> = (
  event: EventOf<Names>,
  context: RunContext,
) => unknown;

/** What the fallback is called with besides the event. */
export interface FallbackContext extends RunContext {
  /** Whether the event's name is one of the four known ones: then no handler took it, or `issues` say why not. */
  readonly isKnown: boolean;
}

/** How long `stop` waits for active runs, unless told otherwise, in milliseconds. */
const stopPatience = 10_000;

type State = 'created' | 'starting' | 'started' | 'stopping' | 'stopped';

/** Receives the platform's deliveries, keeps them in the inbox, and runs the handlers. Made by `createReceiver`. */
export class Receiver {
  /** What calls have become. */
  readonly calls: Calls;
  /** The events of the inbox, to look at and to run again. */
  readonly events: InboxEvents;
  /** Deliveries that were kept but not handled. */
  readonly quarantine: Quarantine;
  /** How the platform departs from what is documented. */
  readonly drift: DriftLedger;
  readonly #options: ResolvedOptions;
  readonly #store: Store;
  readonly #telemetry: Telemetry;
  readonly #registry: Registry;
  readonly #authenticator: Authenticator;
  readonly #intake: Intake;
  readonly #erasure: Erasure;
  readonly #retention: Retention;
  #dispatcher: Dispatcher | undefined;
  #state: State = 'created';
  #isDatabaseLent = false;

  /** @internal */
  constructor(options: ReceiverOptions) {
    this.#options = resolveOptions(options);
    const { clock, database, logger } = this.#options;
    this.#telemetry = new Telemetry(logger);
    this.#store = typeof database === 'string' ? new SqliteStore(database, clock) : database;
    this.#registry = new Registry(this.#options);
    this.#authenticator = buildAuthenticator(this.#options, this.#store, this.#telemetry);
    this.#intake = buildIntake(this.#options, this.#store, this.#telemetry, this.#authenticator, {
      isOpen: () => this.#state === 'started',
      onRecorded: this.#onRecorded,
      onUncertain: () => this.#dispatcher?.wake(),
    });
    const common = { telemetry: this.#telemetry, requireStarted: this.#requireStarted };
    this.calls = new Calls({ ...common, store: this.#store.calls });
    this.events = new InboxEvents({
      ...common,
      store: this.#store.events,
      clock,
      handlerNames: () => this.#registry.all.map((handler) => handler.name),
      route: (event) => route(event, this.#registry.handlers, this.#registry.fallback),
      onPutBack: () => this.#dispatcher?.wake(),
    });
    this.drift = new DriftLedger({ ...common, store: this.#store.drift, clock });
    const { traceIds } = this.#options.retention;
    const keeping = { ...common, store: this.#store.retention, clock };
    this.#erasure = new Erasure({ ...keeping, traceIds });
    this.#retention = new Retention({
      ...keeping,
      periods: this.#options.retention,
      onCleaned: () => this.#erasure.finish(),
    });
    this.quarantine = new Quarantine({
      ...common,
      store: this.#store.quarantine,
      authenticate: async (body, headers, receivedAt) => {
        const proof = await this.#authenticator.authenticateAgain(body, headers, receivedAt);
        return () => this.#authenticator.pin(proof);
      },
      onReleased: this.#onRecorded,
    });
  }

  /**
   * Registers a handler for the events of some names: one of the four known ones, any other, `Service.*`, or
   * `*`. It ends a run by returning (done), throwing (tried again), or throwing `Discard` or `RetryLater`.
   * Events that miss what their name promises go to the fallback instead.
   *
   * @returns the receiver
   * @throws ConfigError for a second handler of one name, or one registered after `start`
   * @example receiver.on('CallHandler.CallEnded', async (event, ctx) => save(event.payload.call_id));
   */
  on<const Names extends EventPattern | readonly EventPattern[]>(
    names: Names,
    handler: EventHandler<Names>,
  ): this;
  on<const Names extends EventPattern | readonly EventPattern[]>(
    names: Names,
    options: HandlerOptions,
    handler: EventHandler<Names>,
  ): this;
  on(names: string | readonly string[], ...rest: readonly unknown[]): this {
    const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest;
    const patterns = typeof names === 'string' ? [names] : names;
    this.#registry.add(patterns, options ?? {}, handler as Handler['handle']);
    return this;
  }

  /**
   * Registers the function for events that no handler takes, or whose payload misses what the name promises
   * (`event.issues`). It is a handler like any other, named `fallback`.
   *
   * @example receiver.fallback(async (event, { isKnown, log }) => log.warn({ isKnown }, event.eventName));
   */
  fallback(handler: (event: CallEvent, context: FallbackContext) => unknown): this {
    const withIsKnown = (event: CallEvent, context: RunContext) =>
      handler(event, { ...context, isKnown: isKnownEventName(event.eventName) });
    this.#registry.setFallback((typeof handler === 'function' ? withIsKnown : handler) as Handler['handle']);
    return this;
  }

  /**
   * Registers a handler that waits for several events of one call, and is then called once with the call:
   * when all of them are there, in whatever order, or when `within` after the first of them is over. Events
   * that came before a restart, or before the join was registered, count.
   *
   * @throws ConfigError as `on` does
   * @example
   * receiver.onCall(
   *   { name: 'save-order', events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'], within: '2m' },
   *   async (call, ctx) => ctx.commit((db) => saveOrder(db, call.callId, call.complete)),
   * );
   */
  onCall(options: JoinOptions, handler: (call: JoinedCall, context: RunContext) => unknown): this {
    this.#registry.addJoin(options, handler as Handler['handle']);
    return this;
  }

  /**
   * Opens the inbox, takes up everything acknowledged and not done, and begins to take deliveries.
   *
   * @throws RingbackError when the database can't be used, ConfigError when the secrets can't be had
   */
  async start(): Promise<void> {
    if (this.#state !== 'created')
      throw configError(this.#state === 'started' ? 'receiver_started' : 'receiver_stopped');
    this.#state = 'starting';
    this.#registry.close();
    try {
      await this.#store.open();
      await this.#authenticator.load();
      await this.#dispatch().start();
    } catch (error) {
      this.#state = 'stopped';
      await this.#store.close();
      throw error;
    }
    this.#state = 'started';
    this.#retention.start();
    this.#tellStart();
  }

  /**
   * Refuses new deliveries with 503, answers those under way, gives active runs until `drain` to end
   * (default '10s'), then interrupts them; what is not done is taken up at the next start. Closes the inbox.
   */
  async stop({ drain = stopPatience }: { drain?: Duration } = {}): Promise<void> {
    if (this.#state === 'created' && this.#isDatabaseLent) await this.#closeUnstarted();
    if (this.#state !== 'started') return;
    const patience = parseDuration(drain);
    if (patience === undefined) {
      throw configError('option_invalid', {
        option: 'drain',
        expected: "a duration such as '10s'",
        found: String(drain),
      });
    }
    this.#state = 'stopping';
    this.#telemetry.tell('receiver_stopping');
    await this.#intake.drained();
    await this.#dispatcher?.stop(patience);
    await this.drift.stop();
    await this.#retention.stop();
    await this.#store.close();
    this.#state = 'stopped';
    this.#telemetry.tell('receiver_stopped');
  }

  /** Whether deliveries are taken: between `start` and `stop`. */
  get isReady(): boolean {
    return this.#state === 'started';
  }

  /** Takes a delivery and says what to answer: what every adapter calls. */
  readonly take = (delivery: Delivery): Promise<Reply> => this.#intake.take(delivery);

  /**
   * The receiver as middleware of Express 4 or 5; mount it before any body parser.
   *
   * @example app.use('/webhooks/calls', receiver.middleware());
   */
  middleware(): Middleware {
    return middleware(this.take);
  }

  /**
   * The receiver as a request listener of `node:http`.
   *
   * @example createServer(receiver.nodeHandler()).listen(8080);
   */
  nodeHandler(): (request: IncomingMessage, response: ServerResponse) => void {
    return nodeHandler(this.take);
  }

  /**
   * The receiver for anything that speaks Request and Response.
   *
   * @example const response = await receiver.fetch(request);
   */
  fetch(request: Request): Promise<Response> {
    return fetchHandler(this.take)(request);
  }

  /**
   * The inbox's own database, for tables of your own: create them before `start`, when no handler runs yet. Using
   * it opens the database. Handlers write to it with `ctx.commit`.
   *
   * @throws RingbackError `database_not_offered` for a store without a connection, `database_unreadable`,
   *   `database_newer`; ConfigError after `stop`
   * @example receiver.database.exec('create table if not exists orders (call_id text primary key)');
   */
  get database(): InboxDatabase {
    if (this.#state === 'stopped') throw configError('receiver_stopped');
    const { database, name } = this.#store;
    if (!database) throw ringbackError('database_not_offered', { database: name });
    this.#isDatabaseLent = true;
    return database;
  }

  /**
   * Erases a call, or every call and event that names a phone number: bodies, headers, runs with their reasons, the
   * call's record, what of it is in quarantine; everywhere in the inbox and in its files. Its trace ids stay, so
   * that a late copy is a duplicate and is not stored. Your own tables are yours to erase from.
   *
   * @throws ConfigError for a target that can't be; RingbackError `receiver_not_started`
   * @example await receiver.erase({ callId: 'call_42' }) // { events: 3, runs: 1, quarantined: 0, calls: 1, … }
   */
  erase(target: ErasureTarget): Promise<Erased> {
    return this.#erasure.erase(target);
  }

  /** How many events, runs and quarantined deliveries the inbox holds, by state. */
  counts(): Promise<StoreCounts> {
    return this.#store.counts();
  }

  /** A new event is on disk, however it got there. */
  readonly #onRecorded = (event: CallEvent, receivedAt: number): void => {
    this.drift.observe(event, receivedAt);
    this.#dispatcher?.wake();
  };

  readonly #requireStarted = (method: string): void => {
    if (this.#state !== 'started') throw ringbackError('receiver_not_started', { method });
  };

  /** Opened for users' own tables, and then never started. */
  async #closeUnstarted(): Promise<void> {
    this.#state = 'stopped';
    await this.#store.close();
  }

  #dispatch(): Dispatcher {
    const { clock, random, logger } = this.#options;
    const { handlers, fallback } = this.#registry;
    const parts = {
      store: this.#store,
      telemetry: this.#telemetry,
      handlers,
      fallback,
      clock,
      random,
      logger,
    };
    this.#dispatcher = new Dispatcher(parts);
    return this.#dispatcher;
  }

  #tellStart(): void {
    const { https, secrets } = this.#options;
    this.#telemetry.tell('receiver_started', {
      database: this.#store.name,
      handlers: this.#registry.all.map((handler) => handler.name),
    });
    if (!https.required) this.#telemetry.tell('https_not_required');
    if (secrets === undefined) this.#telemetry.tell('signature_not_checked');
  }
}

/**
 * Makes a receiver. Nothing is opened before `start`.
 *
 * @throws ConfigError for options that can't be, in a sentence that says what to do
 * @example
 * const receiver = createReceiver({ secrets: process.env.WEBHOOK_SECRET });
 * receiver.on('CallHandler.CallEnded', async (event) => console.log(event.payload.call_id));
 * app.use('/webhooks/calls', receiver.middleware());
 * await receiver.start();
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  return new Receiver(options);
}

function buildAuthenticator(options: ResolvedOptions, store: Store, telemetry: Telemetry): Authenticator {
  const { secrets, layouts, isLayoutGiven, tolerance, clock } = options;
  const onFailure = (cause: string) => telemetry.tell('secrets_failed', { cause });
  const source = secrets === undefined ? undefined : new SecretSource(secrets, clock, onFailure);
  return new Authenticator({ secrets: source, layouts, isLayoutGiven, tolerance, store, telemetry, clock });
}

function buildIntake(
  { limits, https, headers, layouts, clock }: ResolvedOptions & { readonly clock: Clock },
  store: Store,
  telemetry: Telemetry,
  authenticator: Authenticator,
  ties: Pick<IntakeParts, 'isOpen' | 'onRecorded' | 'onUncertain'>,
): Intake {
  const signatureHeaders = [...new Set(layouts.map(({ layout }) => layout.header))];
  const recorder = new Recorder(store, telemetry, clock, { signatureHeaders, credentials: headers });
  const { required, trustProxy, hosts } = https;
  const admission = { isHttpsRequired: required, trustProxy, hosts, headers };
  return new Intake({ limits, admission, authenticator, recorder, telemetry, clock, ...ties });
}
