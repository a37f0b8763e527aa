import { ringbackError } from '../../errors/errors.ts';
import { type Clock, pause, refProcess } from '../../kit/clock.ts';
import { messageOf } from '../../kit/error-text.ts';
import type { Telemetry } from '../../receiver/telemetry.ts';
import type { AuditRequest, AuditRow, AuditStore, Progress } from '../../store/audit-store.ts';
import type { EventStore, EventStretch, StoredEvent } from '../../store/event-store.ts';
import type { Sequence } from '../../store/event-record.ts';
import type { Audit } from '../audit.ts';
import { type RunCounts, addRuns, noRuns } from '../../store/shared/changed-runs.ts';
import { type BulkResult, type BulkWork, bulkStateOf } from './bulk-work.ts';

interface BulkActionsParts {
  readonly store: EventStore;
  readonly entries: AuditStore;
  readonly audit: Pick<Audit, 'begin'>;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  /** The work that an entry describes; undefined if this process doesn't have the handlers for it. */
  readonly workOf: (entry: AuditRow) => BulkWork | undefined;
  /** @throws RingbackError unless the receiver runs */
  readonly requireStarted: (method: string) => void;
}

/** How many steps per second with a rate: the runs of a second shouldn't all begin at its start. */
const stepsPerSecond = 50;
/** How often progress is written while there is nothing to change, in milliseconds. */
const progressInterval = 1_000;
/** How often a waiting action checks its entry, in milliseconds: another process may have stopped or ended it. */
const lookInterval = 2_000;

/** Where an action begins, or continues. */
interface Start extends Pick<Progress, 'reached' | 'upTo'> {
  /** The events after `reached`, if they have been read. */
  readonly first?: EventStretch;
}

/** An action that this process runs. */
interface Driven {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Replays and dismissals. They go through many events in order of arrival, a bounded number at a time, so that intake
 * is never delayed. The audit entry stores the progress: if the process ends, another one continues the action, or the
 * same one after a restart, and a person can stop it from any process. If two processes continue the same action, each
 * step is written by only one of them.
 */
export class BulkActions {
  readonly #parts: BulkActionsParts;
  readonly #closing = new AbortController();
  readonly #driven = new Map<number, Driven>();
  /** The actions of other processes: their last progress, and for how many checks it hasn't changed. */
  #others = new Map<number, { readonly reached: Sequence; readonly looks: number }>();

  constructor(parts: BulkActionsParts) {
    this.#parts = parts;
  }

  /** Resolves to what an action would change; rejects with the reason of `signal` once that is aborted. */
  async preview(work: BulkWork, signal?: AbortSignal): Promise<BulkResult> {
    const { store, requireStarted } = this.#parts;
    const upTo = await store.lastSequence();
    let counts: RunCounts = noRuns;
    for (let after = 0; after < upTo;) {
      requireStarted('a dry run');
      signal?.throwIfAborted();
      const { events, reached } = await store.stretch(work.filter, after, upTo);
      after = reached;
      const step = await work.stepOf(events);
      if (step) counts = addRuns(counts, await step.preview());
    }
    return { id: undefined, state: undefined, ...counts };
  }

  /** Begins an action. `ended` resolves when it is done or stopped, whichever process ends it. */
  async begin(
    request: Omit<AuditRequest, 'now' | 'mayRemove' | 'upTo' | 'begunAfter'>,
    work: BulkWork,
  ): Promise<{ readonly id: number; readonly ended: Promise<BulkResult> }> {
    const { store, audit } = this.#parts;
    const upTo = await store.lastSequence();
    // Progress is counted from the first event that matches: in an inbox with millions of older ones, it would begin
    // near its end.
    const first = await store.stretch(work.filter, 0, upTo);
    const begunAfter = first.events[0] ? first.events[0].sequence - 1 : first.reached;
    const id = await audit.begin({ ...request, upTo, begunAfter });
    const driven = this.#drive(id, work, { reached: begunAfter, upTo, first });
    // A program that awaits the end may have nothing else that keeps its process alive between two steps.
    const unref = refProcess();
    return { id, ended: driven.then(() => this.#endOf(id)).finally(unref) };
  }

  /** Stops an action. Resolves to whether it was still running. */
  async stop(id: number): Promise<boolean> {
    const { entries, clock } = this.#parts;
    const wasRunning = await entries.stop(id, clock.now());
    this.#driven.get(id)?.stop.abort();
    return wasRunning;
  }

  /** The progress of an action; undefined if there is no such entry. */
  async get(id: number): Promise<BulkResult | undefined> {
    const entry = await this.#parts.entries.get(id);
    return entry && resultOf(entry);
  }

  /** Continues the actions that were running when their process ended. */
  async resume(): Promise<void> {
    await this.#look(() => true);
  }

  /** Called once a minute. Continues the actions without progress since the last check: their process is gone. */
  async look(): Promise<void> {
    await this.#look(({ id, progress }, { rate }) => {
      const before = this.#others.get(id);
      const isStill = before?.reached === progress?.reached;
      const looks = isStill ? (before?.looks ?? 0) + 1 : 0;
      this.#others.set(id, { reached: progress?.reached ?? 0, looks });
      // At a low rate, minutes lie between two steps.
      return looks > (rate === undefined ? 0 : 10 / (60 * rate));
    });
  }

  /** Leaves this process's actions to its next start, or to other processes. Resolves when all writes have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    const driven = [...this.#driven.values()];
    for (const { stop } of driven) stop.abort();
    await Promise.allSettled(driven.map(({ ended }) => ended));
  }

  async #look(isMine: (entry: AuditRow, work: BulkWork) => boolean): Promise<void> {
    const { entries, workOf, clock, telemetry } = this.#parts;
    try {
      const running = await entries.running();
      this.#others = new Map([...this.#others].filter(([id]) => running.some((entry) => entry.id === id)));
      for (const entry of running) {
        const { id, progress, what } = entry;
        // An erasure has cleared its filter.
        if (what === '') await entries.stop(id, clock.now());
        const work = workOf(entry);
        if (!work || !progress || this.#driven.has(id) || !isMine(entry, work)) continue;
        this.#drive(id, work, progress).catch(() => {});
      }
    } catch (error) {
      telemetry.report('bulk_action_failed', { cause: messageOf(error) });
    }
  }

  #drive(id: number, work: BulkWork, from: Start): Promise<void> {
    const stop = new AbortController();
    const ended = this.#goThrough(id, work, from, stop.signal)
      .catch((error: unknown) => {
        this.#parts.telemetry.report('bulk_action_failed', { entry: id, cause: messageOf(error) });
        throw error;
      })
      .finally(() => this.#driven.delete(id));
    this.#driven.set(id, { stop, ended });
    return ended;
  }

  /** Takes an action through its events. Returns early if it was stopped, or if another process continues it. */
  async #goThrough(
    id: number,
    work: BulkWork,
    { reached: written, upTo, first }: Start,
    stop: AbortSignal,
  ): Promise<void> {
    const { store, entries, clock } = this.#parts;
    const { filter, rate, onWritten } = work;
    let writtenAt = clock.elapsed();
    // When the next step may be written. A late timer is made up for, but not a longer delay, such as a search for the
    // next match: a replay that was held up must not requeue many runs at once.
    let due = writtenAt;
    let from = written;
    let read = first;
    for (let after = written; after < upTo;) {
      if (stop.aborted) return;
      const { events, reached } = read ?? (await store.stretch(filter, after, upTo));
      read = undefined;
      for (const { part, upTo: to } of partsOf(events, reached, rate)) {
        const step = await work.stepOf(part);
        if (step) {
          const begunAt = clock.elapsed();
          const changed = await step.write({ id, from, reached: to });
          if (!changed) return;
          [from, writtenAt] = [to, clock.elapsed()];
          if (rate !== undefined)
            due = Math.max(due, begunAt - 1_000 / stepsPerSecond) + (changed.length * 1_000) / rate;
          if (changed.length > 0) onWritten();
        }
        if (to < upTo && !(await this.#waitUntil(due, id, stop))) return;
      }
      after = reached;
      if (clock.elapsed() - writtenAt < progressInterval || from === after) continue;
      if (!(await entries.advance({ id, from, reached: after }))) return;
      [from, writtenAt] = [after, clock.elapsed()];
    }
    if (from < upTo && !(await entries.advance({ id, from, reached: upTo }))) return;
    await entries.end(id, clock.now(), { events: 0, runs: 0 });
    const result = await this.get(id);
    if (result?.state === 'done') work.onDone(result);
  }

  /** Resolves to false if the action was stopped meanwhile. */
  async #waitUntil(due: number, id: number, stop: AbortSignal): Promise<boolean> {
    const { clock, entries } = this.#parts;
    for (let left = due - clock.elapsed(); left > 0; left = due - clock.elapsed()) {
      await pause(clock, Math.min(left, lookInterval), stop);
      if (stop.aborted) return false;
      if (left > lookInterval && (await entries.get(id))?.finishedAt !== undefined) return false;
    }
    return !stop.aborted;
  }

  /** The action may not have ended here: another process may have taken it over, or `close` interrupted it. */
  async #endOf(id: number): Promise<BulkResult> {
    const { entries, clock } = this.#parts;
    const { signal } = this.#closing;
    for (;;) {
      // Also while the receiver stops: the action may have ended with its last step. Later, nothing can be read.
      const isClosing = signal.aborted;
      const entry = await entries.get(id).catch((error: unknown) => {
        if (signal.aborted) return undefined;
        throw error;
      });
      if (entry?.finishedAt !== undefined) return resultOf(entry);
      if (isClosing) throw ringbackError('bulk_action_left', { id });
      await pause(clock, lookInterval, signal);
    }
  }
}

/** Splits events into steps. `upTo` is the last event that each step covers. */
function partsOf(
  events: readonly StoredEvent[],
  reached: Sequence,
  rate: number | undefined,
): readonly { readonly part: readonly StoredEvent[]; readonly upTo: Sequence }[] {
  const size = rate === undefined ? events.length : Math.ceil(rate / stepsPerSecond);
  const starts = events.map((_, index) => index).filter((index) => index % size === 0);
  return starts.map((start) => {
    const part = events.slice(start, start + size);
    return { part, upTo: start + size >= events.length ? reached : (part.at(-1)?.sequence ?? reached) };
  });
}

function resultOf(entry: AuditRow): BulkResult {
  const { id, events, runs, progress } = entry;
  return { id, state: bulkStateOf(entry) ?? 'done', events, runs, handlers: progress?.handlers ?? {} };
}
