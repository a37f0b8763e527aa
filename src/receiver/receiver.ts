import type { IncomingMessage, ServerResponse } from 'node:http';
import { blameCaller, configError } from '../errors/errors.ts';
import { describe } from '../errors/option-problems.ts';
import type { EventOf } from '../events/event-types.ts';
import { type EventPattern, isKnownEventName } from '../events/names.ts';
import type { HandlerOptions, JoinOptions } from './handler-options.ts';
import type { DatabaseOf, Handler, JoinedCall, RunContext, UserDatabase } from '../dispatch/handler.ts';
import { type FetchConnection, fetchHandler } from '../http/fetch.ts';
import { type Middleware, middleware } from '../http/express.ts';
import { type OnAnswerFailed, nodeHandler } from '../http/node.ts';
import { type Mounted, mounted } from '../http/mount.ts';
import type { Authorize } from '../operate/api/access.ts';
import { type ApiHandler, type ApiParts, apiHandler } from '../operate/api/api.ts';
import { pageHandler } from '../operate/page/page.ts';
import type { Clock } from '../kit/clock.ts';
import { locationThrownAt } from '../kit/error-location.ts';
import { classOf, messageOf } from '../kit/error-text.ts';
import { type TrustProxy, trustNobody } from '../kit/trust-proxy.ts';
import { isObject } from '../kit/values.ts';
import type { Calls } from '../operate/calls.ts';
import type { Alerts } from '../operate/alerts/alerts.ts';
import type { Audit } from '../operate/audit.ts';
import type { DriftLedger } from '../operate/drift.ts';
import type { Failures } from '../operate/failures.ts';
import type { History } from '../operate/history.ts';
import type { InboxHandlers } from '../operate/handlers.ts';
import type { Erased } from '../operate/erasure/erasure.ts';
import type { ErasureTarget } from '../operate/erasure/erasure-target.ts';
import type { InboxEvents } from '../operate/events.ts';
import type { Quarantine } from '../operate/quarantine/quarantine.ts';
import type { Reconciled, ReconcileOptions } from '../operate/reconcile/reconcile-options.ts';
import { Lifecycle, type StopOptions } from './lifecycle.ts';
import type { CallEvent, Delivery, Reply } from '../events/model.ts';
import { type ReceiverOptions, resolveOptions, shortDurationsOf } from './options.ts';
import type { StoreCounts } from '../store/store.ts';
import { BoundedReports } from './telemetry.ts';
import type { Parts } from './wiring.ts';

/** A function that handles the events of some names. */
export type EventHandler<Names extends EventPattern | readonly EventPattern[], Transaction = UserDatabase> = (
  event: EventOf<Names>,
  context: RunContext<Transaction>,
) => unknown;

/** The context that the fallback gets besides the event. */
export interface FallbackContext<Transaction = UserDatabase> extends RunContext<Transaction> {
  /** Whether the event has one of the four known names. Then no handler matches it, or `issues` say why none got it. */
  readonly isKnown: boolean;
}

/** @internal */
interface Internals {
  readonly lifecycle: Lifecycle;
  readonly parts: Parts;
  readonly clock: Clock;
  readonly trustProxy: TrustProxy;
}

/**
 * The inside of a receiver, for other parts of Ringback.
 *
 * @throws ConfigError for another value
 * @internal
 */
export let internalsOf: (receiver: Receiver) => Internals;

/**
 * Receives the platform's deliveries, stores them in the inbox, and runs the handlers. Created by `createReceiver`.
 * `Transaction` is the type of what `ctx.commit` passes to its function.
 */
export class Receiver<Transaction = UserDatabase> {
  /** The records of calls, computed from their events, and what joins wait for. */
  readonly calls: Calls;
  /** The events of the inbox: list, get and replay them, and dismiss their runs. */
  readonly events: InboxEvents;
  /** Failures of unfinished runs and dead letters, in groups of similar ones. */
  readonly failures: Failures;
  /** The handlers: list, pause and resume them. */
  readonly handlers: InboxHandlers;
  /** Deliveries that are kept but not handled. */
  readonly quarantine: Quarantine;
  /** How deliveries differ from the platform's document. */
  readonly drift: DriftLedger;
  /** Numbers of deliveries and runs over time, by minute and by hour. */
  readonly history: History;
  /** The alerts that are raised. */
  readonly alerts: Alerts;
  /** The audit list: changes made by people, with who, when, what and why. */
  readonly audit: Audit;
  readonly #clock: Clock;
  readonly #trustProxy: TrustProxy;
  readonly #lifecycle: Lifecycle;
  readonly #parts: Parts;
  readonly #onAnswerFailed: OnAnswerFailed;

  static {
    internalsOf = (receiver) => {
      // For arguments in the wrong order, such as of `collectMetrics`.
      if (!isObject(receiver) || !(#lifecycle in receiver))
        throw configError('option_invalid', {
          option: 'receiver',
          expected: 'what createReceiver has returned',
          found: describe(receiver),
        });
      return {
        lifecycle: receiver.#lifecycle,
        parts: receiver.#parts,
        clock: receiver.#clock,
        trustProxy: receiver.#trustProxy,
      };
    };
  }

  /** @internal */
  constructor(options: ReceiverOptions<Transaction>) {
    const resolved = resolveOptions(options);
    this.#clock = resolved.clock;
    this.#trustProxy = resolved.https.trustProxy ?? trustNobody;
    this.#lifecycle = new Lifecycle(resolved, shortDurationsOf(options));
    this.#parts = this.#lifecycle.parts;
    const { calls, events, failures, handlers, quarantine, drift, audit, history, alerts } = this.#parts;
    this.calls = calls;
    this.events = events;
    this.quarantine = quarantine;
    this.failures = failures;
    this.handlers = handlers;
    this.drift = drift;
    this.audit = audit;
    this.history = history;
    this.alerts = alerts;
    this.take = this.#parts.intake.take;
    this.fetch = fetchHandler(this.take);
    // Anybody can send what the app's middleware fails at.
    const reports = new BoundedReports(this.#clock, this.#parts.telemetry, 'answer_failed');
    this.#onAnswerFailed = (error) =>
      reports.add({ cause: classOf(error), location: locationThrownAt(error) });
  }

  /**
   * Registers a handler for events by their names: a known name, any other name, `Service.*`, or `*`. The handler ends
   * a run by returning (done), by throwing (retried), or by throwing `Discard` or `RetryLater`, which count as thrown
   * if they are returned. Known events whose payload is incomplete go to the fallback instead, even if a pattern
   * matches them.
   *
   * @returns the receiver
   * @throws ConfigError for an invalid name or option, a second handler with the same name, or one registered after
   *   `start`
   * @example receiver.on('CallHandler.CallEnded', async (event, ctx) => save(event.payload.call_id));
   */
  on<const Names extends EventPattern | readonly EventPattern[]>(
    // The second type adds nothing but an editor's suggestions inside a list.
    names: Names | readonly EventPattern[],
    handler: EventHandler<Names, Transaction>,
  ): this;
  on<const Names extends EventPattern | readonly EventPattern[]>(
    names: Names | readonly EventPattern[],
    options: HandlerOptions,
    handler: EventHandler<Names, Transaction>,
  ): this;
  on(names: string | readonly string[], ...rest: readonly unknown[]): this {
    const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest;
    const patterns = typeof names === 'string' ? [names] : names;
    blameCaller(this, 'on', () =>
      this.#parts.registry.add(patterns, options ?? {}, handler as Handler['handle']),
    );
    return this;
  }

  /**
   * Registers the handler for events that no other handler matches, or whose payload is incomplete (`event.issues`).
   * It is a handler like any other, with the name `fallback`.
   *
   * @returns the receiver
   * @throws ConfigError for a value that is not a function, a second fallback, another handler named `fallback`, or one
   *   registered after `start`
   * @example receiver.fallback(async (event, { isKnown, log }) => log.warn({ isKnown }, event.eventName));
   */
  fallback(handler: (event: CallEvent, context: FallbackContext<Transaction>) => unknown): this {
    // Not a copy, which would make all that the context makes on first use.
    const withIsKnown = (event: CallEvent, context: RunContext<Transaction>) =>
      handler(event, Object.assign(context, { isKnown: isKnownEventName(event.eventName) }));
    const handle = (typeof handler === 'function' ? withIsKnown : handler) as Handler['handle'];
    blameCaller(this, 'fallback', () => this.#parts.registry.setFallback(handle));
    return this;
  }

  /**
   * Registers a join: a handler that waits for several events of one call and is then called once with the call. It
   * is called when all of them have arrived, in any order, or when `within` is over, counted from the arrival of the
   * first. Events that arrived before a restart, or before the join was registered, count too, as far back as
   * `within`.
   *
   * @returns the receiver
   * @throws ConfigError as `on` does
   * @example
   * receiver.onCall(
   *   { name: 'save-order', events: ['CallHandler.CallEnded', 'callAnalysis.pcaCompleted'], within: '2m' },
   *   async (call, ctx) => ctx.commit((db) => saveOrder(db, call.callId, call.complete)),
   * );
   */
  onCall(
    options: JoinOptions,
    handler: (call: JoinedCall, context: RunContext<Transaction>) => unknown,
  ): this {
    blameCaller(this, 'onCall', () => this.#parts.registry.addJoin(options, handler as Handler['handle']));
    return this;
  }

  /**
   * Opens the inbox, resumes all acknowledged events that are not done, and begins to accept deliveries.
   *
   * @throws RingbackError when the database can't be used; ConfigError when the secrets can't be obtained, or `start`
   *   was called before
   * @example await receiver.start(); // from here on, deliveries are accepted
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /**
   * Refuses new deliveries with 503, answers those in flight, gives active runs `drain` (default '10s') to end, then
   * interrupts them and closes the inbox. Runs that are not done are run again after the next start. While another
   * process has the database locked, it waits another 5 seconds; what it can't write by then stays unwritten. Called
   * while `start` is in flight, it waits for `start` first; called before `start`, it makes `start` throw; called
   * again, it waits for the first call.
   *
   * @throws ConfigError for invalid options; the receiver then keeps running
   * @example process.once('SIGTERM', () => void receiver.stop({ drain: '20s' }));
   */
  stop(options: StopOptions = {}): Promise<void> {
    return this.#lifecycle.stop(options);
  }

  /**
   * Whether deliveries are accepted: true between `start` and `stop`, unless the last one could not be stored because
   * the disk is full or the database is locked. The write is then retried every second. If the database has been
   * deleted or replaced, it stays false.
   */
  get isReady(): boolean {
    return this.#lifecycle.isReady;
  }

  /**
   * Takes a delivery and resolves to the answer; never rejects. All adapters call this: use it in an adapter of your
   * own.
   *
   * @param delivery the method, the headers by lower-case name, where the raw bytes are, and what is known about the peer
   * @example
   * const body = { kind: 'bytes', bytes } as const;
   * const peer = { peerAddress: undefined, encrypted: true, appTrustProxy: undefined };
   * const reply = await receiver.take({ method: 'POST', headers, body, ...peer });
   */
  readonly take: (delivery: Delivery) => Promise<Reply>;

  /**
   * The receiver as middleware of Express 4 or 5; mount it before any body parser.
   *
   * @throws ConfigError at the first request, if it was mounted without its parentheses
   * @example app.use('/webhooks/calls', receiver.middleware());
   */
  middleware(...request: readonly never[]): Middleware {
    refuseRequest(request, 'middleware');
    return middleware(this.take, this.#onAnswerFailed);
  }

  /**
   * The receiver as a request listener of `node:http`.
   *
   * @example createServer(receiver.nodeHandler()).listen(8080);
   */
  nodeHandler(...request: readonly never[]): (request: IncomingMessage, response: ServerResponse) => void {
    refuseRequest(request, 'nodeHandler');
    return nodeHandler(this.take, this.#onAnswerFailed);
  }

  /**
   * The receiver for frameworks with Request and Response.
   *
   * @param connection what the server knows about the connection. Behind a proxy, a list in `https.trustProxy` needs the
   *   peer's address
   * @example const response = await receiver.fetch(request);
   * @example const response = await receiver.fetch(request, { peerAddress: socket.remoteAddress, encrypted: false });
   */
  readonly fetch: (request: Request, connection?: FetchConnection) => Promise<Response>;

  /**
   * The operators' API: the inbox over HTTP, as JSON. `authorize` is called for every request. `GET /openapi.json`
   * describes it.
   *
   * @throws ConfigError without `authorize`
   * @example
   * const api = receiver.api({ authorize: (request) => (isOperator(request) ? 'all' : undefined) });
   * app.use('/ringback/api', api.middleware());
   */
  api(options: { readonly authorize: Authorize }): Mounted {
    return blameCaller(this, 'api', () => this.#mounted(apiHandler, options?.authorize));
  }

  /**
   * The operators' page, for a browser: events, calls, failures, quarantine and what to do about them. The API is
   * below it, at `api/`. `authorize` is called for every request.
   *
   * @throws ConfigError without `authorize`
   * @example
   * const page = receiver.page({ authorize: (request) => (isOperator(request) ? 'all' : undefined) });
   * app.use('/ringback', page.middleware());
   */
  page(options: { readonly authorize: Authorize }): Mounted {
    return blameCaller(this, 'page', () => this.#mounted(pageHandler, options?.authorize));
  }

  #mounted(handlerOf: (parts: ApiParts) => ApiHandler, authorize: Authorize): Mounted {
    const { changes } = this.#parts;
    // Anybody can make an `authorize` throw that doesn't expect what was sent.
    const reports = new BoundedReports(this.#clock, this.#parts.telemetry, 'api_failed');
    const onFailed = (error: unknown) => reports.add({ cause: messageOf(error) });
    const operations = { ...this.#parts, clock: this.#clock };
    return mounted(handlerOf({ operations, changes, authorize, onFailed }), onFailed);
  }

  /**
   * The inbox's database, for tables of your own: create them before `start`, while no handler runs yet. The first
   * use opens the database. Handlers write to it with `ctx.commit`. On Postgres, its `transaction` is asynchronous.
   *
   * @throws RingbackError `database_not_offered` for a store without a connection, `database_unreadable`,
   *   `database_foreign`, `database_newer`, `database_closed` after `stop`
   * @example receiver.database.exec('create table if not exists orders (call_id text primary key)');
   * @example
   * await receiver.database.transaction((tx) =>
   *   tx.query('create table if not exists orders (call_id text primary key)'),
   * );
   */
  get database(): DatabaseOf<Transaction> {
    return this.#lifecycle.offerDatabase() as DatabaseOf<Transaction>;
  }

  /**
   * Erases a call, or every call and event that contains a phone number, everywhere in the inbox and in its files:
   * bodies, headers, runs with their reasons, the call's record, and deliveries in quarantine. Digests of the trace ids
   * stay, so that a late copy is a duplicate and is not stored. It doesn't erase anything from your own tables:
   * `callIds` of the result are the calls to erase there. With `dryRun: true`, nothing is erased, and the result shows
   * what would be.
   *
   * @param others None. A second argument given by mistake, such as `{ dryRun: true }`, is refused.
   * @throws ConfigError for an invalid target; RingbackError `receiver_not_started`
   * @example
   * await receiver.erase({ callId: 'call_42' });
   * // { events: 3, runs: 1, quarantined: 0, calls: 1, callIds: ['call_42'], … }
   */
  erase(target: ErasureTarget, ...others: readonly never[]): Promise<Erased> {
    return this.#parts.erasure.erase(target, others);
  }

  /**
   * Recovers events that the platform gave up on during an outage: reads calls back, and records each missing event
   * (start, end and analysis of a call) with `source: 'reconciled'`, to be handled like any other. If its delivery
   * arrives later, it is a duplicate. May be called repeatedly, and in several processes. A call that can't be read
   * is counted as failed and doesn't stop the others.
   *
   * @throws ConfigError for invalid options; RingbackError `receiver_not_started`, also when the receiver is stopped
   *   meanwhile; what `ids` throws; the reason of `signal`
   * @example
   * const { calls, analyses } = createPlatform({ baseUrl, apiKey });
   * const since = '2h';
   * const ids = (from: Date) => orders.callIdsSince(from);
   * const { recorded, failed } = await receiver.reconcile({ calls, analyses, since, ids });
   */
  reconcile(options: ReconcileOptions): Promise<Reconciled> {
    return this.#parts.reconciliation.reconcile(options);
  }

  /**
   * How many events, runs and quarantined deliveries the inbox holds, by state.
   *
   * @throws RingbackError `receiver_not_started`
   * @example (await receiver.counts()).runs.dead // how many dead letters wait for a person
   */
  async counts(): Promise<StoreCounts> {
    this.#lifecycle.requireStarted('counts()');
    return this.#parts.gated.counts();
  }
}

/** Without this, `app.use(receiver.middleware)`, without parentheses, would leave every request unanswered. */
function refuseRequest(request: readonly never[], method: string): void {
  if (request.length > 0) throw configError('adapter_not_called', { method });
}

/**
 * Creates a receiver. Nothing is opened before `start`.
 *
 * @throws ConfigError for invalid options, with a message that says what to do
 * @example
 * const receiver = createReceiver({ secrets: process.env.WEBHOOK_SECRET });
 * receiver.on('CallHandler.CallEnded', async (event) => console.log(event.payload.call_id));
 * app.use('/webhooks/calls', receiver.middleware());
 * await receiver.start();
 */
export function createReceiver<Transaction = UserDatabase>(
  options: ReceiverOptions<Transaction>,
): Receiver<Transaction> {
  return blameCaller({ createReceiver }, 'createReceiver', () => new Receiver(options));
}
