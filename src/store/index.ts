/**
 * `ringback/store`: the contract of an inbox, for those who write a store of their own. It is unstable until two stores
 * have passed its conformance suite for a release: a minor version may change it.
 *
 * @module ringback/store
 */
export type { Recording, RunEnd, RunState, Store, StoreCounts, StoreFactory, StoreNotice } from './store.ts';
export type { ClaimedEvent, ClaimedRun, CrashCounts, HandlerTerms, RunSelection, Settled } from './claims.ts';
export type { EventRecord, Sequence } from './event-record.ts';
export type {
  DismissalStep,
  DismissalWrite,
  DismissedRun,
  EventFilter,
  EventState,
  EventStore,
  EventStretch,
  KeptDuplicates,
  KeptEvent,
  KeptEventPage,
  KeptEventWithBytes,
  KeptRun,
  KeptRunWithFailures,
  ReplayCandidate,
  ReplayedRuns,
  ReplayQuestion,
  ReplayStep,
  ReplayWrite,
  SeenDuplicates,
  StoredEvent,
} from './event-store.ts';
export type { CallFilter, CallStore, JoinLookBack, JoinView, KeptJoin } from './call-store.ts';
export type { DriftRow, DriftStore } from './drift-store.ts';
export type {
  KeptDelivery,
  Quarantined,
  QuarantineEntry,
  QuarantineFilter,
  QuarantineKind,
  QuarantinePage,
  QuarantineRecord,
  QuarantineStore,
} from './quarantine-store.ts';
export type {
  CleaningStep,
  CompactOptions,
  ErasureStep,
  EventCount,
  Kept,
  KeptIn,
  Look,
  RetentionLimits,
  RetentionStore,
  Scrubbed,
} from './retention-store.ts';
export type {
  AuditAction,
  AuditCounts,
  AuditFilter,
  AuditPage,
  AuditRequest,
  AuditRow,
  AuditStore,
  Progress,
  ProgressStep,
} from './audit-store.ts';
export type {
  Failure,
  FailureGroup,
  FailureQuery,
  FailureStore,
  KeptFailure,
  NamedGroup,
} from './failure-store.ts';
export type { HandlerPause, HandlerRuns, HandlerStore, LivingProcess, StartSlots } from './handler-store.ts';
export type { AlertStore, DeadRuns, FoundAlert, KeptAlert, AlertToSend } from './alert-store.ts';
export type { Backlog, HistoryRow, HistoryStore, Resolution } from './history-store.ts';
export { Unconfirmed } from './claims.ts';
export type { CallPage } from './call-store.ts';
