import { setImmediate } from 'node:timers/promises';
import { type ErasureTarget, readTarget } from './erasure-target.ts';
import type { Audit } from '../audit.ts';
import { IdMentions } from './id-mentions.ts';
import type { Mentions } from './person-mentions.ts';
import type { Clock } from '../../kit/clock.ts';
import type { Sequence } from '../../store/event-record.ts';
import type { EventStore } from '../../store/event-store.ts';
import type { HandlerStore } from '../../store/handler-store.ts';
import type { ErasureStep, Kept, KeptIn, Look, RetentionStore } from '../../store/retention-store.ts';
import type { Telemetry } from '../../receiver/telemetry.ts';

/** What was erased, and whether the database files still hold remains of it. */
export interface Erased {
  readonly events: number;
  /** Stored runs, dead letters included. */
  readonly runs: number;
  readonly quarantined: number;
  /** Calls that had an event. */
  readonly calls: number;
  /** The ids of these calls, so that you can erase them in your own tables. */
  readonly callIds: readonly string[];
  /**
   * Whether the WAL was emptied. False: another process was in the way, and this is retried later. In
   * Postgres always false: its files are left to vacuum.
   */
  readonly checkpointed: boolean;
  /** Whether the database was rewritten. In Postgres always false. */
  readonly compacted: boolean;
}

interface ErasureParts {
  readonly store: RetentionStore;
  readonly events: Pick<EventStore, 'list'>;
  readonly pauses: Pick<HandlerStore, 'paused' | 'erasePause'>;
  readonly audit: Audit;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** How long the trace ids of erased events are remembered, in milliseconds. */
  readonly traceIds: number;
  /** @throws RingbackError `receiver_not_started` */
  readonly requireStarted: (method: string) => void;
}

/** How many events are listed or erased in one step. */
const eventsAtOnce = 100;

interface Found {
  /** The ids of the calls to erase. The value is the event that mentions the person, if the call was found by one. */
  readonly calls: ReadonlyMap<string, Sequence | undefined>;
  readonly events: readonly number[];
  /** The trace ids of `events`. */
  readonly traceIds: IdMentions;
  /** Whether a text mentions the person or call to erase, or the id of a call found with it. */
  readonly mentions: Mentions;
}

interface ErasedEvents extends Pick<Erased, 'events' | 'runs' | 'callIds'> {
  readonly traceIds: IdMentions;
}

/** Erases a call, or everything that names a phone number, from the inbox and its files. */
export class Erasure {
  readonly #parts: ErasureParts;

  constructor(parts: ErasureParts) {
    this.#parts = parts;
  }

  /** Erases in steps, so that deliveries are recorded in between. `signal` ends a dry run, and nothing else. */
  async erase(target: ErasureTarget, others: readonly unknown[], signal?: AbortSignal): Promise<Erased> {
    this.#parts.requireStarted('erase()');
    const { callId, mentions, compact, dryRun, account } = readTarget(target, others);
    if (dryRun) return this.#wouldErase(await this.#find(callId, mentions, signal), signal);
    // The entry doesn't name the call or number: that is what must be erased.
    const what = callId === undefined ? 'a phone number' : 'a call';
    return this.#parts.audit.record({ ...account, action: 'erase', what }, async () => {
      const result = await this.#erase(await this.#find(callId, mentions), compact);
      return { result, counts: { events: result.events, runs: result.runs } };
    });
  }

  async #erase(found: Found, compact: boolean | undefined): Promise<Erased> {
    const quarantined = await this.#eraseQuarantined(found);
    const listed = await this.#traceIdsOf(found);
    // Done before the events are erased, too: an interrupted erasure couldn't find these entries again, because the
    // calls and trace ids that they mention are found through the events.
    await this.#eraseBeside((content) => found.mentions(content) || listed.isIn(content));
    const { callIds, traceIds, ...events } = await this.#eraseEvents(found);
    await this.#parts.store.clearUnusedGroups();
    // Runs may have failed meanwhile and added entries.
    await this.#eraseBeside((content) => found.mentions(content) || traceIds.isIn(content));
    const counts = { ...events, calls: callIds.length, quarantined };
    const scrubbed = (await this.#parts.store.compact?.({ rewrite: compact })) ?? {
      checkpointed: false,
      compacted: false,
    };
    this.#parts.telemetry.report('erased', { ...counts, ...scrubbed });
    return { ...counts, callIds, ...scrubbed };
  }

  /** Removes from the files what an earlier erasure, of this or another process, had to leave there. */
  async finish(): Promise<void> {
    const { store } = this.#parts;
    await store.compact?.({ onlyIfNeeded: true });
  }

  /** Finds the calls, which are erased as a whole, and the single events that belong to no call. */
  async #find(callId: string | undefined, mentions: Mentions, signal?: AbortSignal): Promise<Found> {
    const calls = new Map<string, Sequence | undefined>(callId === undefined ? [] : [[callId, undefined]]);
    const ids = new IdMentions([...calls.keys()]);
    const events: number[] = [];
    const traceIds = new IdMentions();
    for await (const kept of this.#mentioning(
      callId === undefined ? 'events' : 'events_without_call',
      mentions,
      signal,
    )) {
      if (kept.callId === undefined) {
        events.push(kept.key);
        if (kept.traceId !== undefined) traceIds.add(kept.traceId);
      } else if (!calls.has(kept.callId)) {
        calls.set(kept.callId, kept.key);
        // Added one by one: building a matcher for very many calls at once would block the event loop.
        ids.add(kept.callId);
      }
    }
    return { calls, events, traceIds, mentions: (content) => mentions(content) || ids.isIn(content) };
  }

  async #wouldErase({ calls, events, mentions }: Found, signal: AbortSignal | undefined): Promise<Erased> {
    const { store } = this.#parts;
    const total = { ...(await store.countEvents(events)) };
    const callIds: string[] = [];
    for (const callId of calls.keys()) {
      signal?.throwIfAborted();
      const ofCall = await store.countCall(callId);
      total.events += ofCall.events;
      total.runs += ofCall.runs;
      if (ofCall.events > 0) callIds.push(callId);
    }
    let quarantined = 0;
    for await (const _ of this.#mentioning('quarantine', mentions, signal)) quarantined += 1;
    return { ...total, calls: callIds.length, callIds, quarantined, checkpointed: false, compacted: false };
  }

  /** Adds the trace ids of the calls' events to those of the events without a call. */
  async #traceIdsOf({ calls, traceIds }: Found): Promise<IdMentions> {
    for (const callId of calls.keys()) {
      let cursor: string | undefined;
      do {
        const page = await this.#parts.events.list({ callId }, { limit: eventsAtOnce, cursor });
        for (const { traceId } of page.events) traceIds.add(traceId);
        ({ cursor } = page);
      } while (cursor !== undefined);
    }
    return traceIds;
  }

  async #eraseQuarantined({ mentions }: Found): Promise<number> {
    let quarantined = 0;
    for await (const { key } of this.#mentioning('quarantine', mentions)) {
      quarantined += await this.#parts.store.eraseQuarantined([key]);
    }
    return quarantined;
  }

  /** Erases mentions in the audit list, in the groups of failures, and in the pauses of handlers. */
  async #eraseBeside(mentions: Mentions): Promise<void> {
    const { store, pauses } = this.#parts;
    for await (const { key } of this.#mentioning('audit', mentions)) await store.eraseAudit([key]);
    for await (const { key } of this.#mentioning('failure_groups', mentions))
      await store.eraseFailureGroups([key]);
    for (const { handler, by = '', reason = '' } of await pauses.paused())
      if (mentions(by) || mentions(reason)) await pauses.erasePause(handler);
  }

  async #eraseEvents({ calls, events }: Found): Promise<ErasedEvents> {
    const { store, clock, traceIds: remembered } = this.#parts;
    const erased = { events: 0, runs: 0, traceIds: new IdMentions() };
    const add = ({ events: count, runs, traceIds }: ErasureStep) => {
      erased.events += count;
      erased.runs += runs;
      for (const traceId of traceIds) erased.traceIds.add(traceId);
    };
    const callIds: string[] = [];
    for (const [callId, last] of calls) {
      const before = erased.events;
      for (let hasMore = true; hasMore;) {
        // The event `last` goes last: if the erasure is interrupted, only that event leads back to this call.
        const step = await store.eraseCall(callId, clock.now() + remembered, last);
        add(step);
        hasMore = step.hasMore;
      }
      if (erased.events > before) callIds.push(callId);
    }
    for (let start = 0; start < events.length; start += eventsAtOnce) {
      const some = events.slice(start, start + eventsAtOnce);
      add(await store.eraseEvents(some, clock.now() + remembered));
    }
    return { ...erased, callIds };
  }

  async *#mentioning(where: KeptIn, mentions: Mentions, signal?: AbortSignal): AsyncGenerator<Kept> {
    const { store, requireStarted } = this.#parts;
    let after: string | undefined;
    do {
      requireStarted('erase()');
      signal?.throwIfAborted();
      const look: Look = await store.look(where, after);
      for (const kept of look.found) if (kept.contents.some(mentions)) yield kept;
      after = look.next;
      // Reading takes a while; deliveries are received in between.
      await setImmediate();
    } while (after !== undefined);
  }
}
