import { z } from 'zod';
import { configError } from '../errors/errors.ts';
import type { BodyDecoder } from '../events/body-decoder.ts';
import { readBytes } from '../events/read-bytes.ts';
import type { Handler } from '../dispatch/handling.ts';
import type { Clock } from '../kit/clock.ts';
import { closest } from '../kit/closest-name.ts';
import { defined } from '../kit/values.ts';
import type { CallEvent } from '../events/model.ts';
import { givenText, listOptions } from '../errors/option-problems.ts';
import {
  type EventFilter,
  type EventStore,
  type ReplayCandidate,
  type ReplayWrite,
  type StoredEvent,
  joinKey,
} from '../store/event-store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';
import type { Audit } from './audit.ts';
import { RunTally } from './run-tally.ts';

/** How to replay. */
export interface ReplayOptions {
  /**
   * Only this handler, also for events that it has never seen. @default the filter's `handler`, else every handler that takes
   * the event now
   */
  readonly only?: string | undefined;
  /** Runs nothing, and returns what would be run. @default false */
  readonly dryRun?: boolean | undefined;
  /** How many runs become due a second. @default all at once */
  readonly rate?: number | undefined;
  /** Who asks for it; kept in the audit list and in `ctx.replay`. */
  readonly by?: string | undefined;
  /** Why; kept in the audit list and in `ctx.replay`. */
  readonly reason?: string | undefined;
}

/** What a replay has requeued, or would requeued. */
export interface ReplayResult {
  /** The id of its entry in the audit list; undefined for a dry run. */
  readonly id: number | undefined;
  readonly events: number;
  readonly runs: number;
  /** How many runs each handler gets. */
  readonly handlers: Readonly<Record<string, number>>;
}

/** What looking at events, replaying them and dismissing runs work with. */
export interface ReplayParts {
  readonly store: EventStore;
  readonly audit: Audit;
  readonly decoder: BodyDecoder;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** The names of the registered handlers. */
  readonly handlerNames: () => readonly string[];
  /** The handlers that take an event now. */
  readonly route: (event: CallEvent) => readonly Handler[];
  /** Called when runs have been requeued. */
  readonly onRequeued: () => void;
  /** @throws RingbackError unless the receiver runs */
  readonly requireStarted: (method: string) => void;
}

const text = givenText.optional();

/** Which events: the same conditions for looking, replaying and dismissing. */
export const replayFilterSchema = z.strictObject({
  eventName: text,
  callId: text,
  agentId: text,
  state: z.enum(['new', 'open', 'done', 'dead'], "'new', 'open', 'done' or 'dead'").optional(),
  handler: text,
  traceId: text,
  failure: text.describe('The id of a group of failures.'),
  since: listOptions.since,
  until: listOptions.until,
});

export const replayOptionsSchema = z.strictObject({
  only: text.describe('Only this handler, also for events that it has never seen.'),
  dryRun: z.boolean('true or false').default(false),
  rate: z
    .number('a number of runs a second, above 0')
    .gt(0, 'a number of runs a second, above 0')
    .optional()
    .describe('How many runs become due a second.'),
  by: text,
  reason: text,
});

/**
 * Goes through the events in order of arrival, a bounded number at a time, so that intake is never held up. A dry run
 * makes the store decide in the same way, but without writing, so its result is what a replay would do.
 */
export async function runReplay(
  parts: ReplayParts,
  filter: EventFilter,
  options: z.output<typeof replayOptionsSchema>,
): Promise<ReplayResult> {
  requireCondition(filter, 'events.replay(filter)', 'To run every event again, say { since: 0 }.');
  const handler = options.only ?? filter.handler;
  if (handler !== undefined) requireHandler(handler, parts.handlerNames());
  const { dryRun, rate, by, reason } = options;
  if (dryRun) return goThrough(parts, filter, { ...options, handler, id: undefined });
  const what = JSON.stringify({ ...filter, only: options.only, rate });
  return parts.audit.record({ action: 'replay', what, by, reason }, async (id) => {
    const result = await goThrough(parts, filter, { ...options, handler, id });
    parts.telemetry.report('events_replayed', { replay: id, events: result.events, runs: result.runs });
    return { result };
  });
}

/** Requeues the runs, or counts them if there is no `id`. Each step of the store adds to the counts of its entry. */
async function goThrough(
  parts: ReplayParts,
  filter: EventFilter,
  {
    handler,
    rate,
    id,
  }: {
    readonly handler?: string | undefined;
    readonly rate?: number | undefined;
    readonly id: number | undefined;
  },
): Promise<ReplayResult> {
  const { store, clock, requireStarted, onRequeued } = parts;
  const tally = new RunTally();
  const joins = new Set<string>();
  const upTo = await store.lastSequence();
  const spreadFrom = spreading(rate, clock);

  for (let after = 0; after < upTo;) {
    requireStarted('events.replay()');
    const { events, reached } = await store.stretch(filter, after, upTo);
    after = reached;
    const candidates: ReplayCandidate[] = [];
    for (const event of events) candidates.push(...(await candidatesOf(event, parts, handler)));
    if (candidates.length === 0) continue;
    const step = { candidates, onlyDead: filter.state === 'dead', joins };
    const put =
      id === undefined
        ? await store.wouldRequeue(step)
        : await store.requeue({ ...step, replay: id, spread: spreadFrom(tally.runs) });
    tally.add(put);
    for (const candidate of put) if (candidate.isJoin) joins.add(joinKey(candidate));
    if (id !== undefined && put.length > 0) onRequeued();
  }
  return { id, ...tally.result };
}

/**
 * When runs that are spread over time are due, by how many were requeued before them. Measured with the monotonic
 * clock, because the wall clock may be set while runs are requeued.
 */
function spreading(rate: number | undefined, clock: Clock): (before: number) => ReplayWrite['spread'] {
  if (rate === undefined) return () => undefined;
  const gap = 1_000 / rate;
  const begunAt = clock.elapsed();
  return (before) => ({ delay: begunAt + before * gap - clock.elapsed(), gap });
}

/** Refuses a filter without any condition: a forgotten value must not select the whole inbox. */
export function requireCondition(filter: EventFilter, option: string, fix: string): void {
  if (Object.keys(defined(filter)).length > 0) return;
  throw configError('option_invalid', {
    option,
    expected: 'at least one condition',
    found: 'without any',
    fix,
  });
}

/** Refuses a handler that isn't registered: runs that are requeued for it might wait forever. */
function requireHandler(name: string, known: readonly string[]): void {
  if (known.includes(name)) return;
  const before = 'its runs are replayed';
  throw configError('handler_unknown', {
    name,
    before,
    meant: closest(name, known),
    known: known.join(', '),
  });
}

async function candidatesOf(
  stored: StoredEvent,
  { decoder, route }: ReplayParts,
  only: string | undefined,
): Promise<ReplayCandidate[]> {
  const { sequence, callId } = stored;
  const reading = await readBytes(decoder, stored);
  if (!reading.ok) return [];
  return route(reading.event)
    .filter(({ name }) => only === undefined || name === only)
    .map(({ name, order, join }) => ({ sequence, callId, handler: name, order, isJoin: join !== undefined }));
}
