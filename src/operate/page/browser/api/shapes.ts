/** The API's answers by the names of their schemas. Times are in ISO 8601, durations in milliseconds. */
import type { z } from 'zod';
import type { results } from '../../../api/results.ts';

export type Result<Name extends keyof typeof results> = z.infer<(typeof results)[Name]>;

export type Counts = Result<'Counts'>;
export type Events = Result<'Events'>;
type ListedEvent = Events['events'][number];
/** An event of a list, or a single one, which also has failed attempts and, on request, its body and headers. */
export type Event = Omit<ListedEvent, 'runs'> &
  Partial<Pick<Result<'Event'>, 'body' | 'raw' | 'headers'>> & { readonly runs: readonly Run[] };
export type Run = ListedEvent['runs'][number] & { readonly failures?: readonly FailedAttempt[] };
type FailedAttempt = Result<'Event'>['runs'][number]['failures'][number];
export type Calls = Result<'Calls'>;
export type Call = Result<'Call'>;
export type Joins = Result<'Joins'>;
export type Deliveries = Result<'Deliveries'>;
export type Delivery = Result<'Delivery'>;
/** What is known about a signature: of a delivery in quarantine, or of an event. */
export type SignatureCheck = Result<'EventSignature'> | Result<'SignatureCheck'>;
export type Drift = Result<'Drift'>;
export type FailureGroup = Failures['groups'][number];
export type Pause = Result<'Paused'>;
export type Handlers = Result<'Handlers'>;
export type HandlerState = Handlers['handlers'][number];
export type Audit = Result<'Audit'>;
export type AuditEntry = Audit['entries'][number];
export type Running = Result<'Running'>;
export type Alerts = Result<'Alerts'>;
export type History = Result<'History'>;
export type HandlerHistory = Result<'HandlerHistory'>;
export type Backlog = Result<'Backlog'>;
export type HistoryPoint = History['points'][number];
/** The answer to a replay or dismissal. */
export type ChangedRuns = Result<'BulkAction'>;
export type Erased = Result<'Erased'>;
export type Released = Result<'Released'>;
export type Discarded = Result<'Discarded'>;
export type Reverified = Result<'Reverified'>;
export type Stopped = Result<'Stopped'>;
export type Failures = Result<'Failures'>;
