import { setImmediate } from 'node:timers/promises';
import { type ErasureTarget, readTarget } from './erasure-target.ts';
import type { Audit } from './audit.ts';
import { IdMentions } from './id-mentions.ts';
import type { Mentions } from './person-mentions.ts';
import type { Clock } from '../kit/clock.ts';
import type { Sequence } from '../store/event-record.ts';
import type { EventStore } from '../store/event-store.ts';
import type { HandlerStore } from '../store/handler-store.ts';
import type { ErasureStep, Kept, KeptIn, RetentionStore } from '../store/retention-store.ts';
import type { Telemetry } from '../receiver/telemetry.ts';

/** What was erased, and whether it is also gone from the files. */
export interface Erased {
  readonly events: number;
  /** Stored runs, dead letters included. */
  readonly runs: number;
  readonly quarantined: number;
  /** Calls that had an event. */
  readonly calls: number;
  /** Their ids, to erase in your own tables what belongs to these calls. */
  readonly callIds: readonly string[];
  /**
   * Whether the write-ahead log was emptied. False: another process was in the way, and this is retried later. In Postgres
   * always false: its files are left to vacuum.
   */
  readonly checkpointed: boolean;
  /** Whether the database was rewritten. In Postgres always false. */
  readonly compacted: boolean;
}

export interface ErasureParts {
  readonly store: RetentionStore;
  readonly events: Pick<EventStore, 'list'>;
  readonly pauses: Pick<HandlerStore, 'paused' | 'erasePause'>;
  readonly audit: Audit;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
  /** How long the trace ids of what was erased are remembered, in milliseconds. */
  readonly traceIds: number;
  /** @throws RingbackError `receiver_not_started` */
  readonly requireStarted: (method: string) => void;
}

/** How many events without a call are erased in one step. */
const eventsAtOnce = 100;

interface Found {
  /** Each with one event that mentions what is to be erased, if the call was found by that. */
  readonly calls: ReadonlyMap<string, Sequence | undefined>;
  readonly events: readonly number[];
  /** Those of `events`. */
  readonly traceIds: IdMentions;
  /** Whether something mentions what is to be erased, or one of the calls that are erased with it. */
  readonly mentions: Mentions;
}

/** Which events were erased. */
interface ErasedEvents extends Pick<Erased, 'events' | 'runs' | 'callIds'> {
  readonly traceIds: IdMentions;
}

/** Erases what a person asks to have erased, everywhere in the inbox and in its files. */
export class Erasure {
  readonly #parts: ErasureParts;

  constructor(parts: ErasureParts) {
    this.#parts = parts;
  }

  /** Erases, in steps between which deliveries are recorded. */
  async erase(target: ErasureTarget, others: readonly unknown[]): Promise<Erased> {
    this.#parts.requireStarted('erase()');
    const { callId, mentions, compact, dryRun, account } = readTarget(target, others);
    if (dryRun) return this.#wouldErase(await this.#find(callId, mentions));
    // Which call or number it was is not kept: that is what is to be erased.
    const what = callId === undefined ? 'a phone number' : 'a call';
    return this.#parts.audit.record({ ...account, action: 'erase', what }, async () => {
      const result = await this.#erase(await this.#find(callId, mentions), compact);
      return { result, counts: { events: result.events, runs: result.runs } };
    });
  }

  async #erase(found: Found, compact: boolean | undefined): Promise<Erased> {
    const quarantined = await this.#eraseQuarantined(found);
    const listed = await this.#traceIdsOf(found);
    // Before the events as well: if this ends in the middle, the next erasure finds neither calls nor trace ids by them.
    await this.#eraseBeside((content) => found.mentions(content) || listed.isIn(content));
    const { callIds, traceIds, ...events } = await this.#eraseEvents(found);
    // Runs may have failed meanwhile.
    await this.#eraseBeside((content) => found.mentions(content) || traceIds.isIn(content));
    const counts = { ...events, calls: callIds.length, quarantined };
    const scrubbed = (await this.#parts.store.compact?.({ rewrite: compact })) ?? {
      checkpointed: false,
      compacted: false,
    };
    this.#parts.telemetry.report('erased', { ...counts, ...scrubbed });
    return { ...counts, callIds, ...scrubbed };
  }

  /** Removes from the files what an earlier erasure, of this or another process, could not remove. */
  async finish(): Promise<void> {
    const { store } = this.#parts;
    await store.compact?.({ onlyIfNeeded: true });
  }

  /** Finds the calls, which are erased as a whole, and single events that belong to no call. */
  async #find(callId: string | undefined, mentions: Mentions): Promise<Found> {
    const calls = new Map<string, Sequence | undefined>(callId === undefined ? [] : [[callId, undefined]]);
    const ids = new IdMentions([...calls.keys()]);
    const events: number[] = [];
    const traceIds = new IdMentions();
    for await (const kept of this.#mentioning(
      callId === undefined ? 'events' : 'events_without_call',
      mentions,
    )) {
      if (kept.callId === undefined) {
        events.push(kept.key);
        if (kept.traceId !== undefined) traceIds.add(kept.traceId);
      } else if (!calls.has(kept.callId)) {
        calls.set(kept.callId, kept.key);
        // One by one: there may be so many calls that all at once would stop the event loop.
        ids.add(kept.callId);
      }
    }
    return { calls, events, traceIds, mentions: (content) => mentions(content) || ids.isIn(content) };
  }

  async #wouldErase({ calls, events, mentions }: Found): Promise<Erased> {
    const { store } = this.#parts;
    const total = { ...(await store.countEvents(events)) };
    const callIds: string[] = [];
    for (const callId of calls.keys()) {
      const ofCall = await store.countCall(callId);
      total.events += ofCall.events;
      total.runs += ofCall.runs;
      if (ofCall.events > 0) callIds.push(callId);
    }
    let quarantined = 0;
    for await (const _ of this.#mentioning('quarantine', mentions)) quarantined += 1;
    return { ...total, calls: callIds.length, callIds, quarantined, checkpointed: false, compacted: false };
  }

  /** Those of the calls' events beside those of the events without a call. */
  async #traceIdsOf({ calls, traceIds }: Found): Promise<IdMentions> {
    for (const callId of calls.keys()) {
      let before: string | undefined;
      do {
        const page = await this.#parts.events.list({ callId }, { limit: eventsAtOnce, before });
        for (const { traceId } of page.events) traceIds.add(traceId);
        before = page.cursor;
      } while (before !== undefined);
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

  /** Erases what people and failures have said: in the audit list, in the groups of failures, and in pauses. */
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
        // Were the event removed first, and this ended in the middle, no other would say whose call it is.
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

  async *#mentioning(where: KeptIn, mentions: Mentions): AsyncGenerator<Kept> {
    const { store, requireStarted } = this.#parts;
    for (let after: number | undefined = 0; after !== undefined;) {
      requireStarted('erase()');
      const { found, next } = await store.look(where, after);
      for (const kept of found) if (kept.contents.some(mentions)) yield kept;
      after = next;
      // Reading takes a while: deliveries are taken in between.
      await setImmediate();
    }
  }
}
