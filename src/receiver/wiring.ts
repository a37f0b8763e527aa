/** Connects the parts of a receiver: what each is given, and which other parts it calls. */
import { Dispatcher } from '../dispatch/dispatcher.ts';
import { Registry } from '../dispatch/registry.ts';
import { BodyDecoder } from '../events/decoding.ts';
import { Changes } from '../operate/api/changes.ts';
import { Alerts } from '../operate/alerts/alerts.ts';
import { gatedStore, whileStarted } from '../operate/gated-store.ts';
import { Audit } from '../operate/audit.ts';
import { Calls } from '../operate/calls.ts';
import { DriftLedger } from '../operate/drift.ts';
import { DuplicateLedger } from '../operate/duplicates.ts';
import { Erasure } from '../operate/erasure/erasure.ts';
import { Failures } from '../operate/failures.ts';
import { Activity } from '../kit/activity.ts';
import type { Tracing } from '../kit/tracing.ts';
import { History } from '../operate/history.ts';
import { InboxHandlers } from '../operate/handlers.ts';
import { InboxHealth } from '../operate/health.ts';
import { InboxEvents } from '../operate/events.ts';
import { Quarantine } from '../operate/quarantine/quarantine.ts';
import { Reconciliation } from '../operate/reconcile/reconciliation.ts';
import { Retention } from '../operate/retention.ts';
import { AcceptedSchemes } from '../intake/accepted-schemes.ts';
import { Authenticator } from '../intake/authenticate.ts';
import { Intake, type IntakeParts } from '../intake/intake.ts';
import { KeptHeaders } from '../signature/headers.ts';
import { Recorder } from '../intake/record.ts';
import { UnauthenticatedDeliveries } from '../intake/unauthenticated.ts';
import { RequiredHeaders } from '../kit/header-fields.ts';
import type { CallEvent } from '../events/model.ts';
import type { ResolvedOptions } from './options.ts';
import { SecretSource } from '../signature/secret-source.ts';
import { freeDiskOf, isSharable, storeOf } from './database.ts';
import type { Backlog } from '../store/history-store.ts';
import type { Store, StoreNotice } from '../store/store.ts';
import { BoundedReports, Telemetry } from './telemetry.ts';

/** What the parts need from the receiver's lifecycle. */
interface LifecycleHooks {
  /** @throws RingbackError unless the inbox is open */
  readonly requireStarted: (method: string) => void;
  /** Ends all work: the store can't be written any more. */
  readonly onReplaced: () => void;
}

/** What most parts need. */
interface Common {
  readonly options: ResolvedOptions;
  readonly hooks: LifecycleHooks;
  readonly store: Store;
  /** The same store for what people ask and do: its methods throw a clear error if the receiver was stopped meanwhile. */
  readonly gated: Store;
  readonly telemetry: Telemetry;
  /** For stored bodies. Arriving bodies have a decoder of their own, because their senders wait. */
  readonly decoder: BodyDecoder;
  readonly audit: Audit;
  readonly activity: Activity;
  readonly tracing: Tracing;
}

/** What checks signatures. */
type Authentication = Pick<IntakeParts, 'authenticator' | 'schemes'>;

/** The parts of a receiver, and the inbox that they share. */
export type Parts = ReturnType<typeof wire>;

/** Makes the parts, and opens nothing. */
export function wire(options: ResolvedOptions, hooks: LifecycleHooks) {
  const { clock, database } = options;
  const { requireStarted } = hooks;
  const telemetry = new Telemetry(options.logger, isSharable(database));
  const store = storeOf(database, clock);
  store.reportTo?.((notice) => report(notice, { store, telemetry, hooks }));
  const health = new InboxHealth(store, clock);
  const decoder = new BodyDecoder(options.limits);
  const activity = new Activity();
  const tracing: Tracing = { tracer: undefined };
  const gated = gatedStore(store, requireStarted);
  const changes = new Changes(clock, activity, requireStarted);
  const onRecorded = () => changes.recorded();
  const audit = new Audit({ store: gated.audit, clock, onRecorded, requireStarted });
  const common: Common = { options, hooks, store, gated, telemetry, decoder, audit, activity, tracing };
  const registry = new Registry(options);
  const authentication = buildAuthentication(common);
  const drift = new DriftLedger({ store: gated.drift, telemetry, clock, requireStarted });
  const { random, logger } = options;
  const dispatcher = new Dispatcher({
    store,
    telemetry,
    activity,
    tracing,
    decoder,
    registry,
    clock,
    random,
    logger,
    drift,
  });
  const duplicates = new DuplicateLedger(gated.events, telemetry, clock);
  const intake = buildIntake(common, authentication, dispatcher, duplicates, () => health.failed());
  const backlog = () => dispatcher.backlog(gated.history);
  const alerts = buildAlerts(common, backlog, () => intake.takeSuspicion());
  const events = buildEvents(common, authentication, registry, dispatcher);
  const onMinute = async () => {
    await alerts.check();
    await events.bulk.look();
  };
  return {
    store,
    gated,
    telemetry,
    decoder,
    registry,
    dispatcher,
    authenticator: authentication.authenticator,
    intake,
    alerts,
    tracing,
    activity,
    calls: new Calls({ store: gated.calls, events: gated.events, requireStarted }),
    history: new History({ store: gated.history, backlog, activity, clock, requireStarted, onMinute }),
    changes,
    audit,
    events,
    failures: new Failures({ store: gated.failures, history: gated.history, audit, clock, requireStarted }),
    handlers: buildHandlers(common, registry, dispatcher),
    quarantine: buildQuarantine(common, authentication, (event, receivedAt) => {
      drift.observe(event, receivedAt);
      dispatcher.wake();
    }),
    drift,
    duplicates,
    health,
    reconciliation: buildReconciliation(common, dispatcher),
    ...buildKeeping(common),
  };
}

/** Logs the notices of a store. */
function report(
  notice: StoreNotice,
  { store, telemetry, hooks }: Pick<Common, 'store' | 'telemetry' | 'hooks'>,
): void {
  const database = store.name;
  if (notice.kind === 'transaction_left_open') telemetry.report(notice.kind, { location: notice.location });
  if (notice.kind === 'wal_missing') telemetry.report(notice.kind, { database });
  if (notice.kind !== 'replaced') return;
  telemetry.report('database_replaced', { database, found: notice.found });
  hooks.onReplaced();
}

/** Uses `gated`, because a person's release from quarantine reads the pin too. */
function buildAuthentication({ options, gated: store, telemetry }: Common): Authentication {
  const { secrets, isSchemeGiven, tolerance, clock } = options;
  const onFailure = (cause: string) => telemetry.report('secrets_failed', { cause });
  const source = secrets === undefined ? undefined : new SecretSource(secrets, clock, onFailure);
  const schemes = new AcceptedSchemes({ schemes: options.schemes, isSchemeGiven, store, telemetry, clock });
  return { schemes, authenticator: new Authenticator({ secrets: source, schemes, tolerance, clock }) };
}

function buildIntake(
  { options, store, telemetry, activity, tracing }: Common,
  { authenticator, schemes }: Authentication,
  dispatcher: Dispatcher,
  duplicates: DuplicateLedger,
  onNotRecorded: () => void,
): Intake {
  const { limits, https, headers, clock } = options;
  const signatureHeaders = [...new Set(options.schemes.map(({ scheme }) => scheme.header))];
  const failures = new BoundedReports(clock, telemetry, 'delivery_failed');
  const keptHeaders = new KeptHeaders(signatureHeaders, headers);
  const keeping = { quarantine: store.quarantine, keptHeaders, failures };
  const unauthenticated = new UnauthenticatedDeliveries({ ...keeping, telemetry, clock });
  const recorder = new Recorder({ ...keeping, dispatcher, duplicates, tracing });
  const { required, trustProxy, hosts } = https;
  const ownHeaders = headers.size > 0 ? new RequiredHeaders(headers) : undefined;
  const admission = { isHttpsRequired: required, trustProxy, hosts, headers: ownHeaders };
  // A decoder of its own: a large body that arrives must not wait behind one that is read for a handler.
  const decoder = new BodyDecoder(limits);
  const stages = { limits, admission, authenticator, schemes, decoder, unauthenticated, recorder };
  const shared = { store, failures, telemetry, activity, tracing, clock };
  return new Intake({ ...stages, ...shared, onNotRecorded });
}

function buildAlerts(
  { options, hooks, gated, telemetry }: Common,
  backlog: () => Promise<Backlog>,
  takeSuspicion: () => boolean | undefined,
): Alerts {
  const { clock, database, alerts } = options;
  const { notify, remind, ...thresholds } = alerts;
  return new Alerts({
    store: gated,
    telemetry,
    clock,
    backlog,
    notify,
    remind,
    thresholds,
    takeSuspicion,
    freeDisk: freeDiskOf(database),
    requireStarted: hooks.requireStarted,
  });
}

function buildEvents(
  { options, hooks, gated, telemetry, decoder, audit }: Common,
  { authenticator }: Authentication,
  registry: Registry,
  dispatcher: Dispatcher,
): InboxEvents {
  return new InboxEvents({
    store: gated.events,
    entries: gated.audit,
    failures: gated.failures,
    audit,
    authenticator,
    decoder,
    telemetry,
    clock: options.clock,
    requireStarted: hooks.requireStarted,
    handlerNames: () => registry.all.map((handler) => handler.name),
    livingHandlers: async () => (await gated.handlers.processes()).flatMap(({ handlers }) => handlers),
    route: (event) => registry.route(event),
    onRequeued: () => dispatcher.wake(),
  });
}

function buildHandlers(
  { options, hooks, gated, telemetry, audit }: Common,
  registry: Registry,
  dispatcher: Dispatcher,
): InboxHandlers {
  return new InboxHandlers({
    store: gated.handlers,
    audit,
    telemetry,
    clock: options.clock,
    requireStarted: hooks.requireStarted,
    registered: () => registry.all,
    runsHere: () => dispatcher.hasBegun,
    claimedHere: (name) => dispatcher.claimedOf(name),
    onChanged: () => whileStarted(() => dispatcher.refreshPauses(), hooks.requireStarted),
  });
}

function buildQuarantine(
  { hooks, gated, telemetry, decoder, audit }: Common,
  { authenticator, schemes }: Authentication,
  onReleased: (event: CallEvent, receivedAt: number) => void,
): Quarantine {
  return new Quarantine({
    store: gated.quarantine,
    audit,
    decoder,
    telemetry,
    requireStarted: hooks.requireStarted,
    events: gated.events,
    authenticator,
    schemes,
    onReleased,
  });
}

function buildReconciliation(
  { options, hooks, gated, telemetry }: Common,
  dispatcher: Dispatcher,
): Reconciliation {
  return new Reconciliation({
    calls: gated.calls,
    record: (record, event) => dispatcher.recordAndRun(record, event),
    telemetry,
    clock: options.clock,
    // Also bounded by `dead`: a dead letter was attempted, and may have done part of its work.
    kept: Math.min(options.retention.done, options.retention.dead),
    requireStarted: hooks.requireStarted,
  });
}

function buildKeeping({ options, hooks, gated, telemetry, audit }: Common): {
  readonly erasure: Erasure;
  readonly retention: Retention;
} {
  const { retention: periods, clock } = options;
  const keeping = { store: gated.retention, telemetry, clock };
  const { requireStarted } = hooks;
  const { traceIds } = periods;
  const erasure = new Erasure({
    ...keeping,
    events: gated.events,
    pauses: gated.handlers,
    audit,
    requireStarted,
    traceIds,
  });
  return { erasure, retention: new Retention({ ...keeping, periods, onCleaned: () => erasure.finish() }) };
}
