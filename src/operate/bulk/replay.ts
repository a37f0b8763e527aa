import { z } from 'zod';
import { configError } from '../../errors/errors.ts';
import type { BodyDecoder } from '../../events/decoding.ts';
import { readBytes } from '../../events/read-event.ts';
import type { Handler } from '../../dispatch/handler.ts';
import { defined, storable } from '../../kit/values.ts';
import type { CallEvent } from '../../events/model.ts';
import { givenText, listOptions } from '../../errors/option-problems.ts';
import {
  type EventFilter,
  type EventStore,
  type ReplayCandidate,
  type StoredEvent,
  joinKey,
} from '../../store/event-store.ts';
import type { FailureStore } from '../../store/failure-store.ts';
import type { Telemetry } from '../../receiver/telemetry.ts';
import type { BulkWork } from './bulk-work.ts';
import { requireKnown } from '../handlers.ts';

/** Options of `events.replay`. */
export interface ReplayOptions {
  /**
   * Run only this handler, even for events that it has never seen. @default the filter's `handler` or that of its
   * `failure`, else every handler that matches the event now
   */
  readonly only?: string | undefined;
  /** Runs nothing and returns what would run. @default false */
  readonly dryRun?: boolean | undefined;
  /** The maximum number of runs that are requeued per second. @default unlimited */
  readonly rate?: number | undefined;
  /** Who requests it; kept in the audit list and in `ctx.replay`. */
  readonly by?: string | undefined;
  /** Why; stored in the audit list and in `ctx.replay`. */
  readonly reason?: string | undefined;
}

export interface ReplayParts {
  readonly store: EventStore;
  readonly decoder: BodyDecoder;
  readonly telemetry: Telemetry;
  /** The names of the registered handlers. */
  readonly handlerNames: () => readonly string[];
  /** The handlers that match an event now. */
  readonly route: (event: CallEvent) => readonly Handler[];
  /** Called when runs have been requeued. */
  readonly onRequeued: () => void;
}

const text = givenText.optional();

/** The filter of events, the same for listing, replaying and dismissing. */
export const eventFilterSchema = z.strictObject({
  eventName: text,
  callId: text,
  agentId: givenText.transform(storable).optional(),
  state: z.enum(['new', 'open', 'done', 'dead'], "'new', 'open', 'done' or 'dead'").optional(),
  handler: text,
  traceId: text,
  failure: text.describe('The id of a group of failures.'),
  since: listOptions.since,
  until: listOptions.until,
});

export const replayOptionsSchema = z.strictObject({
  only: text.describe('Only this handler, also for events that it has never run for.'),
  dryRun: z.boolean('true or false').default(false),
  rate: z
    .number('a number of runs per second, above 0')
    .gt(0, 'a number of runs per second, above 0')
    .optional()
    .describe('How many runs are requeued per second, at most.'),
  by: text,
  reason: text,
});

/** What a replay stores besides its filter: which handler, and how fast. */
export interface ReplayTerms {
  readonly only?: string | undefined;
  readonly rate?: number | undefined;
}

/**
 * Which events are replayed or dismissed. Of a group of failures, only those of its handler: the other runs of their
 * events are left alone. And only the dead letters: a run that was done since it was looked for would be done twice,
 * and one that is tried again has not been given up.
 */
export async function bulkFilter(
  failures: Pick<FailureStore, 'named'>,
  filter: EventFilter,
  { only }: { readonly only?: string | undefined },
): Promise<EventFilter> {
  const { failure, handler, state } = filter;
  if (failure === undefined || handler !== undefined) return filter;
  const [group] = await failures.named([failure]);
  return { ...filter, handler: group?.handler, state: only === undefined ? (state ?? 'dead') : state };
}

/** Refuses a replay of everything, and one for an unregistered handler, whose runs might wait forever. */
export function requireReplayable(
  filter: EventFilter,
  { only }: ReplayTerms,
  known: readonly string[],
): void {
  requireCondition(filter, 'events.replay(filter)', 'To run every event again, pass { since: 0 }.');
  requireKnown(only ?? filter.handler, known, 'its runs are replayed');
}

/** Requeues settled runs of the handlers that match each event now. */
export function replayWork(parts: ReplayParts, filter: EventFilter, { only, rate }: ReplayTerms): BulkWork {
  const { store, telemetry, onRequeued } = parts;
  const onlyDead = filter.state === 'dead';
  // The joins that a dry run has counted: a join runs once per call, not once per event.
  const joins = new Set<string>();
  return {
    filter,
    rate,
    onWritten: onRequeued,
    onDone: ({ id, events, runs }) => telemetry.report('events_replayed', { replay: id, events, runs }),
    async stepOf(events) {
      const handler = only ?? filter.handler;
      const candidates: ReplayCandidate[] = [];
      for (const event of events) candidates.push(...(await candidatesOf(event, parts, handler)));
      if (candidates.length === 0) return undefined;
      return {
        async preview() {
          const found = await store.wouldRequeue({ candidates, onlyDead, joins });
          for (const candidate of found) if (candidate.isJoin) joins.add(joinKey(candidate));
          return found;
        },
        write: (step) => store.requeue({ candidates, onlyDead, step }),
      };
    },
  };
}

/** Refuses a filter without conditions: a forgotten value must not select the whole inbox. */
export function requireCondition(filter: EventFilter, option: string, fix: string): void {
  if (Object.keys(defined(filter)).length > 0) return;
  throw configError('option_invalid', {
    option,
    expected: 'an object with at least one condition',
    found: 'an object with none',
    fix,
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
