/**
 * The public names of Ringback; nothing else is public.
 *
 * @module ringback
 */
import './errors/unbundled.ts';
export { createReceiver, type EventHandler, type FallbackContext, Receiver } from './receiver/receiver.ts';
export type { StopOptions } from './receiver/lifecycle.ts';
export type { AppOptions, ReceiverOptions, RetentionOptions, RetryOptions } from './receiver/options.ts';
export type { HandlerOptions, JoinOptions } from './receiver/handler-options.ts';
export type { CallRecord, CallStatus } from './calls/timeline.ts';
export type { CallQuery, Calls } from './operate/calls.ts';
export type { CallJoin, JoinRun } from './operate/joins.ts';
export type { CallPage } from './store/call-store.ts';
export type {
  AsyncInboxDatabase,
  InboxDatabase,
  JoinedCall,
  Order,
  RunContext,
  RunReplay,
  UserDatabase,
  UserStatement,
} from './dispatch/handler.ts';
export { Discard, RetryLater } from './dispatch/outcomes.ts';
export {
  type BodySource,
  type CallEvent,
  type Delivery,
  type EventSource,
  type Headers,
  type Issue,
  type OccurredAtSource,
  type Scheme,
  type Reply,
} from './events/model.ts';
export { type EventMap, type EventOf, isKnownEvent, type KnownEvent } from './events/event-types.ts';
export type {
  CallEndedPayload,
  CallStartedPayload,
  CallTransferredPayload,
  PcaCompletedPayload,
  TranscriptMessage,
  TransferCaller,
  TransferMetadata,
  TransferSummary,
} from './events/payloads.ts';
export { eventNames, type EventPattern, type KnownEventName } from './events/names.ts';
export { sign, type SignOptions, verify, type VerifyOptions } from './signature/sign-and-verify.ts';
export { describeScheme, type SchemeName, type SignatureOption } from './signature/schemes.ts';
export type { Secrets } from './signature/secrets.ts';
export type { SignatureReason, Verification } from './signature/verify.ts';
export type { AnyHeaders } from './signature/headers.ts';
export { ConfigError, RingbackError } from './errors/errors.ts';
export type { ProblemCode } from './errors/problems.ts';
export type { RefusalCode } from './errors/refusals.ts';
export type { Clock, Random } from './kit/clock.ts';
export type { Duration, Rate } from './kit/duration.ts';
export type { Size } from './kit/bytes.ts';

export type { TrustProxy, TrustProxySetting } from './kit/trust-proxy.ts';
export type { EventState } from './store/event-store.ts';
export type { QuarantineKind } from './store/quarantine-store.ts';
export type { Drift, DriftKind } from './events/drift.ts';
export type { DriftFinding, DriftLedger } from './operate/drift.ts';
export type {
  Quarantine,
  QuarantinedDelivery,
  QuarantineQuery,
  QuarantineReason,
  Reverified,
  ReverifyOptions,
  WholeQuarantinedDelivery,
} from './operate/quarantine/quarantine.ts';
export type { Released } from './operate/quarantine/release.ts';
export type { SignatureCheck, SignatureStatus } from './operate/quarantine/signature-check.ts';
export type { EventSignature, EventSignatureStatus } from './operate/event-signature.ts';
export type { EventFilter, EventQuery, InboxEvents } from './operate/events.ts';
export type {
  EventDuplicates,
  FailedAttempt,
  InboxEvent,
  StoredRun,
  StoredRunWithFailures,
  WholeInboxEvent,
} from './operate/inbox-event.ts';
export type {
  HandlerPause,
  HandlerSettings,
  HandlerState,
  HandlerStates,
  ProcessState,
  InboxHandlers,
} from './operate/handlers.ts';
export type { Alerts, RaisedAlert } from './operate/alerts/alerts.ts';
export type { Alert, AlertName, AlertOptions, AlertWebhook, Notify } from './receiver/alert-options.ts';
export type { History, HistoryQuery } from './operate/history.ts';
export type { HandlerHistoryPoint, HistoryPoint } from './operate/history-points.ts';
export type { FailureGroup, Failures } from './operate/failures.ts';
export type { Account, Audit, AuditEntries, AuditEntry, AuditProgress, AuditQuery } from './operate/audit.ts';
export type { AuditAction } from './store/audit-store.ts';
export type { Resolution } from './store/history-store.ts';
export type { StoreCounts } from './store/store.ts';
export type { BulkResult, BulkState } from './operate/bulk/bulk-work.ts';
export type { DismissOptions } from './operate/bulk/dismissal.ts';
export type { ReplayOptions } from './operate/bulk/replay.ts';
export type { Erased } from './operate/erasure/erasure.ts';
export type {
  CallsToReconcile,
  CallToReconcile,
  ReadCall,
  Reconciled,
  ReconcileOptions,
} from './operate/reconcile/reconcile-options.ts';
export type { ErasureTarget } from './operate/erasure/erasure-target.ts';
export type { Instant } from './errors/option-problems.ts';
export type { LogEvent } from './receiver/telemetry.ts';
export type { Access, Action, Authorize, NamedAccess } from './operate/api/access.ts';
export type { Middleware } from './http/express.ts';
export type { FetchConnection } from './http/fetch.ts';
export type { Mounted } from './http/mount.ts';
