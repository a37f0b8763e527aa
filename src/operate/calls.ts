import { z } from 'zod';
import { type CallRecord, type CallStatus, callRecordOf } from '../calls/timeline.ts';
import { type Instant, listOptions, parseStrictly, searchOptionsSchema } from '../errors/option-problems.ts';
import { storable } from '../kit/values.ts';
import type { CallPage, CallStore } from '../store/call-store.ts';
import type { EventStore } from '../store/event-store.ts';
import { type CallJoin, joinsOf } from './joins.ts';

/** Which calls to list; all given conditions must hold. */
export interface CallQuery {
  readonly agentId?: string | undefined;
  readonly status?: CallStatus | undefined;
  /** Only calls whose first event arrived at or after this time. */
  readonly since?: Instant | undefined;
  /** Only calls whose first event arrived before this time. */
  readonly until?: Instant | undefined;
  /** How many calls per page, at most 1,000. @default 100 */
  readonly limit?: number | undefined;
  /** The `cursor` of the previous page. */
  readonly cursor?: string | undefined;
}

interface CallsParts {
  readonly store: CallStore;
  readonly events: Pick<EventStore, 'list'>;
  /** @throws RingbackError `receiver_not_started` */
  readonly requireStarted: (method: string) => void;
}

/** The statuses of a call, in order of progress. */
export const callStatuses = [
  'in_progress',
  'ended',
  'transferred',
  'analysed',
] as const satisfies readonly CallStatus[];
/** Selects calls, and a page of them. */
export const callQuerySchema = z.strictObject({
  ...listOptions,
  agentId: z.string('the id of an agent').transform(storable).optional(),
  status: z.enum(callStatuses, "'in_progress', 'ended', 'transferred' or 'analysed'").optional(),
});
const idSchema = z.strictObject({ callId: z.string('the id of a call') });

/** The records of calls, computed from their events. */
export class Calls {
  readonly #parts: CallsParts;

  /** @internal */
  constructor(parts: CallsParts) {
    this.#parts = parts;
  }

  /**
   * Reads the record of a call. Resolves to undefined if none of its events has arrived.
   *
   * @throws ConfigError for an id that is not text; RingbackError `receiver_not_started`
   * @example const call = await receiver.calls.get('call_42'); // call?.durationMs
   */
  async get(callId: string): Promise<CallRecord | undefined> {
    const { store, requireStarted } = this.#parts;
    requireStarted('calls.get()');
    parseStrictly(idSchema, { callId }, 'calls.get');
    const events = await store.eventsOf(callId);
    return events.length === 0 ? undefined : callRecordOf(callId, events);
  }

  /**
   * What joins wait for in a call, and how they have run: one entry for each join that has counted an event of it, in
   * order of their names. It is read from the inbox, so the joins need not be registered here.
   *
   * @throws ConfigError for an id that is not text; RingbackError `receiver_not_started`
   * @example (await receiver.calls.joins('call_42')).filter(({ until }) => until) // those that wait
   */
  async joins(callId: string): Promise<readonly CallJoin[]> {
    this.#parts.requireStarted('calls.joins()');
    parseStrictly(idSchema, { callId }, 'calls.joins');
    return joinsOf(callId, this.#parts);
  }

  /**
   * Calls, the most recently first-seen first. `cursor` is for the next page, and undefined on the last. Aborting
   * `signal` cancels the search, which rejects with the signal's reason.
   *
   * @throws ConfigError for an invalid filter or options; RingbackError when the receiver isn't running
   * @example const { calls, cursor } = await receiver.calls.list({ status: 'ended', since: '2026-01-01T00:00:00Z' });
   */
  async list(
    query: CallQuery = {},
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<CallPage> {
    const { store, requireStarted } = this.#parts;
    requireStarted('calls.list()');
    const given = parseStrictly(callQuerySchema, query, 'calls.list', 'query');
    return store.list({ ...given, ...parseStrictly(searchOptionsSchema, options, 'calls.list') });
  }
}
