import type { PoolClient } from 'pg';
import type { ProgressStep } from '../../src/store/audit-store.ts';
import type { EventRecord } from '../../src/store/event-record.ts';
import type { Failure } from '../../src/store/failure-store.ts';
import type { ClaimedEvent, ClaimedRun, HandlerTerms, RunSelection } from '../../src/store/claims.ts';
import type { QuarantineRecord } from '../../src/store/quarantine-store.ts';
import type { RunEnd, RunState, Store } from '../../src/store/store.ts';

/** A store, whatever its transactions are. */
export type AnyStore = Store | Store<PoolClient>;

/** The present of the store's tests, in milliseconds since 1970. */
export const presentTime = 3_000;

/** An event as the intake records it. */
export function eventOf(traceId: string, parts: Partial<EventRecord> = {}): EventRecord {
  return {
    traceId,
    identity: `body:${traceId}`,
    source: 'delivered',
    eventName: 'CallHandler.CallEnded',
    callId: `call-of-${traceId}`,
    organizationId: undefined,
    occurredAt: 1_000,
    receivedAt: 2_000,
    headers: { 'x-webhook-traceid': traceId },
    facts: { source: 'body' },
    body: Buffer.from(`{"traceId":"${traceId}"}`),
    ...parts,
  };
}

/** A delivery whose signature verifies with no secret. */
export const unauthenticated: QuarantineRecord = {
  kind: 'not_authentic',
  reason: 'signature_mismatch',
  digest: 'd',
  receivedAt: 1_000,
  headers: {},
  body: Buffer.from('x'),
  skipped: 0,
};

/** What a handler asks for, by default the order of the call. */
export function handlerOf(name = 'handler', parts: Partial<HandlerTerms> = {}): HandlerTerms {
  return { name, order: 'call', join: undefined, ...parts };
}

/** Records an event without claiming it. */
export function record(store: AnyStore, event: EventRecord): Promise<'new' | 'duplicate'> {
  return store.record(event, false).written;
}

/** The only run of a claimed event that has one handler. */
export function runOf(store: AnyStore, event: ClaimedEvent, handler: HandlerTerms = handlerOf()): ClaimedRun {
  return only(store.runsOf(event, [handler]));
}

/** A replay that somebody asks for. */
export const replayRequest = {
  action: 'replay',
  by: undefined,
  reason: undefined,
  what: '{}',
  now: presentTime,
} as const;

/** A replay or a dismissal of another process, whose handlers no test has. */
export function beginElsewhere({ audit }: Store, action: 'replay' | 'dismiss'): Promise<number> {
  return audit.begin({
    ...replayRequest,
    action,
    what: '{"handler":"elsewhere"}',
    now: Date.now(),
    upTo: 100,
  });
}

/** The first step of a replay that somebody asks for, or of a dismissal: nobody looks which. */
export async function firstStep(store: Store): Promise<ProgressStep> {
  return { id: await store.audit.begin({ ...replayRequest, upTo: 1_000_000 }), from: 0, reached: 1 };
}

/** How an attempt ended, by default the first. */
export function endOf(state: RunState, parts: Partial<RunEnd> = {}): RunEnd {
  return { state, attempts: 1, decidedAt: presentTime, ...parts };
}

/** A failed attempt, of the only group, whose error said this. */
export function failureOf(message: string): Failure {
  return { group: 'g', cause: 'Error', location: undefined, reason: 'r', message, duration: 1 };
}

/** Claims the handler's due runs, by default up to ten that are due by the present. */
export function claimDue(
  store: AnyStore,
  handler: HandlerTerms = handlerOf(),
  parts: Partial<RunSelection> = {},
): Promise<readonly ClaimedRun[]> {
  const selection = { limit: 10, bytes: Infinity, now: presentTime, without: [], isOneACall: false };
  return store.claimRuns(handler, { ...selection, ...parts });
}

export const done: RunState = { kind: 'done' };
export const dead: RunState = { kind: 'dead', reason: 'given up' };
export const dueAt = (at: number): RunState => ({ kind: 'due', at, reason: 'failed' });

/** Records events in this order and claims them all. */
export async function claimedOf(
  store: AnyStore,
  ...records: readonly EventRecord[]
): Promise<ClaimedEvent[]> {
  for (const one of records) await record(store, one);
  return [...(await store.claimEvents(records.length))];
}

/** Records events in this order and claims them all: the run of each. */
export async function claimedRuns(
  store: AnyStore,
  records: readonly EventRecord[],
  handler: HandlerTerms = handlerOf(),
): Promise<ClaimedRun[]> {
  return (await claimedOf(store, ...records)).map((event) => runOf(store, event, handler));
}

/** Records an event and claims it: its run. */
export async function claimedRun(
  store: AnyStore,
  event: EventRecord,
  handler: HandlerTerms = handlerOf(),
): Promise<ClaimedRun> {
  return only(await claimedRuns(store, [event], handler));
}

/** Records an event whose run ends in this state. */
export async function recordEnded(
  store: AnyStore,
  event: EventRecord,
  state: RunState,
  { handler = handlerOf(), ...parts }: Partial<RunEnd> & { readonly handler?: HandlerTerms } = {},
): Promise<void> {
  await store.settle(await claimedRun(store, event, handler), endOf(state, parts));
}

/** Routes an event to several handlers, by name, and has the run of each end in its state; `undefined`: it goes on. */
export async function endSiblings(
  store: AnyStore,
  event: ClaimedEvent,
  states: Readonly<Record<string, RunState | undefined>>,
): Promise<void> {
  const handlers = Object.keys(states).map((name) => handlerOf(name));
  for (const run of store.runsOf(event, handlers)) {
    const state = states[run.handler];
    if (state) await store.settle(run, endOf(state));
  }
}

/** The trace ids of events or runs. */
export const traceIdsOf = (items: readonly { readonly traceId: string }[]) =>
  items.map(({ traceId }) => traceId);

/** The only item in a list. */
export function only<Item>(items: readonly Item[]): Item {
  const [item, ...others] = items;
  if (item === undefined || others.length > 0) throw new Error(`There are ${items.length}, not one.`);
  return item;
}
