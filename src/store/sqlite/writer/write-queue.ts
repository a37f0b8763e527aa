import { clearTimeout, setImmediate, setTimeout } from 'node:timers';
import type { Clock } from '../../../kit/clock.ts';
import { recordTimeout } from '../../timeouts.ts';
import { groupBytes, groupWrites } from './received-writes.ts';
import {
  type WriteFailure,
  type WriteItem,
  type WrittenMessage,
  abandoned,
  bytesOf,
  isAwaited,
  isEndOfClaim,
  lastGivenUp,
} from './write-message.ts';
import { type Sendable, type WriteCallbacks, errorOf } from './writer.ts';

/** How many writes may be in flight: a disk that falls behind must not take the process's memory. */
const maxWrites = 16_384;
const maxBytes = 48 * 1024 * 1024;

/**
 * At how many writes they are sent without waiting for the end of the turn: one turn of the event loop may bring hundreds,
 * and the writer thread would be idle meanwhile.
 */
const fullLoad = 24;

/** How long the ends of claims wait for an event that they go along with, in milliseconds. */
const endsDelay = 2;

/** How many writes are committed together where events come one by one: an event, and the end of the one before it. */
const fewWrites = 2;

/** A write that the writer thread has been given, or is about to be. */
interface Write {
  readonly item: WriteItem;
  readonly transfer: readonly ArrayBuffer[];
  /** When its sender no longer waits, on the clock that never jumps; Infinity if nobody awaits it. */
  readonly deadline: number;
  readonly callbacks: WriteCallbacks;
  /** See `lastGivenUp`; undefined if nobody awaits it. */
  readonly number: number | undefined;
  isGivenUp: boolean;
}

/** What the queue needs of the owner of the writer thread. */
export interface QueueHooks {
  readonly clock: Clock;
  /** Sends writes to the writer thread together. */
  readonly send: (items: readonly WriteItem[], transfer: ArrayBuffer[]) => void;
  /** Receives at once what the writer thread has sent so far. */
  readonly receiveAll: () => void;
}

/** Writes on their way to the writer thread and back: bounded, sent together, answered in order, given up in time. */
export class WriteQueue {
  /** What nobody waits for any more, in memory that the writer thread shares: see `lastGivenUp`. */
  readonly givenUp = new BigInt64Array(new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT));
  readonly #hooks: QueueHooks;
  /** Not sent yet: all writes of one turn of the event loop go together. */
  #unsent: Write[] = [];
  /** In the order in which they will be answered. */
  #sent: Write[] = [];
  /** How many of these are awaited. */
  #sentAwaited = 0;
  #bytes = 0;
  #isScheduled = false;
  #endsTimer: NodeJS.Timeout | undefined;
  #awaited = 0;
  /** How many writes were last written together. */
  #lastWritten = 0;
  /** How long each of the last four commits took that have changed something, in milliseconds. */
  #took = [0, 0, 0, 0];
  #cancelWatch: (() => void) | undefined;

  constructor(hooks: QueueHooks) {
    this.#hooks = hooks;
  }

  /** How many have not been answered. */
  get count(): number {
    return this.#unsent.length + this.#sent.length;
  }

  /**
   * Whether an event would have to wait for longer than its sender does: whole groups go before it, and it is in the
   * commit after them. If it were taken, it would be written although its sender gets 503, at the expense of those
   * that come in time. Only four slow commits in a row count, because a burst or a checkpoint makes one slow. Up to one
   * group is always taken, because it may be long ago that the disk was slow. Where no commit is fast enough for anybody,
   * as many as memory holds are taken: some are written late, and the copies that are sent again are duplicates.
   */
  get isOverloaded(): boolean {
    if (this.count >= maxWrites || this.#bytes >= maxBytes) return true;
    const groups = Math.max(Math.floor(this.count / groupWrites), Math.floor(this.#bytes / groupBytes));
    const took = Math.min(...this.#took);
    return groups > 0 && took <= recordTimeout && (groups + 1) * took > recordTimeout;
  }

  /** Adds a write. One that is awaited fails when it can't be made before its sender gives up. */
  add({ item, transfer = [] }: Sendable, callbacks: WriteCallbacks): void {
    const { clock } = this.#hooks;
    const hasDeadline = isAwaited(item);
    if (hasDeadline && (this.isOverloaded || this.#bytes + bytesOf(item) > maxBytes))
      return callbacks.onFailed(new Error('the database has fallen behind'));
    if (hasDeadline) this.#awaited += 1;
    this.#unsent.push({
      item,
      transfer,
      callbacks,
      deadline: hasDeadline ? clock.elapsed() + recordTimeout : Infinity,
      number: hasDeadline ? this.#awaited : undefined,
      isGivenUp: false,
    });
    this.#bytes += bytesOf(item);
    if (hasDeadline) this.#cancelWatch ??= clock.after(recordTimeout, () => this.#watch());
    this.#sendOrWait(item);
  }

  /** The writer thread says what became of those that were sent first. */
  written({ results, failures, took }: WrittenMessage): void {
    this.#lastWritten = results.length;
    if (took !== undefined) this.#took = [...this.#took.slice(1), took];
    const reasons = new Map(failures);
    const writes = this.#sent.slice(0, results.length);
    this.#sent = this.#sent.slice(results.length);
    for (const { number } of writes) if (number !== undefined) this.#sentAwaited -= 1;
    for (const [index, write] of writes.entries()) this.#end(write, results[index], reasons.get(index));
    this.#whenIdle();
  }

  /** What can't be written at once is given up, whatever it is. */
  abandon(): void {
    Atomics.store(this.givenUp, abandoned, 1n);
  }

  /** The writer thread has ended: whatever it has not answered fails. */
  fail(failure: WriteFailure): void {
    const writes = [...this.#sent, ...this.#unsent];
    this.#sent = [];
    this.#sentAwaited = 0;
    this.#unsent = [];
    for (const write of writes) this.#end(write, undefined, failure);
    this.#whenIdle();
  }

  /** Sends what is unsent, with the write that was just added, or has it sent later. */
  #sendOrWait(added: WriteItem): void {
    if (this.#unsent.length >= fullLoad) return this.#send();
    // An event that comes alone is sent at once, together with the end of the previous event's claim if that is still waiting
    // for it. Where many come, it waits for the others of the same turn of the event loop: if it were sent ahead of them, it
    // would have a commit of its own, and they would wait for that.
    const isFirst = this.#sentAwaited === 0 && this.#lastWritten <= fewWrites;
    if (isAwaited(added) && isFirst) return this.#send();
    // The end of a claim, which nobody waits for, goes along with the next event if one comes soon. By itself it would have
    // a commit of its own, which the next event would have to wait for.
    if (isEndOfClaim(added)) {
      this.#endsTimer ??= setTimeout(() => this.#send(), endsDelay);
      return;
    }
    // Writes of one turn are sent together: each message wakes the other thread, which costs as much as an event.
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    clearTimeout(this.#endsTimer);
    this.#endsTimer = undefined;
    const writes = this.#unsent;
    if (writes.length === 0) return;
    this.#unsent = [];
    for (const write of writes) {
      this.#sent.push(write);
      if (write.number !== undefined) this.#sentAwaited += 1;
    }
    this.#hooks.send(
      writes.map(({ item }) => item),
      writes.flatMap(({ transfer }) => transfer),
    );
  }

  #end({ item, callbacks }: Write, result: unknown, failure: WriteFailure | undefined): void {
    this.#bytes -= bytesOf(item);
    if (failure) return callbacks.onFailed(errorOf(failure));
    // What one callback throws must not concern the other writes: they have been written too.
    try {
      callbacks.onWritten(result);
    } catch (error) {
      callbacks.onFailed(error as Error);
    }
  }

  /** Gives up what nobody waits for any more: a delivery must be answered while its sender is still there. */
  #watch(): void {
    // If the app's event loop was blocked, results may be here already, and the disk was not slow.
    this.#hooks.receiveAll();
    const now = this.#hooks.clock.elapsed();
    let next = Infinity;
    for (const write of [...this.#sent, ...this.#unsent]) {
      if (write.isGivenUp || write.number === undefined) continue;
      if (write.deadline > now) next = Math.min(next, write.deadline);
      else {
        write.isGivenUp = true;
        // They are given up in the order in which they were sent: all have the same timeout.
        Atomics.store(this.givenUp, lastGivenUp, BigInt(write.number));
        const { onFailed, onGivenUp = onFailed } = write.callbacks;
        onGivenUp(new Error('the database did not take it in time'));
      }
    }
    this.#cancelWatch = Number.isFinite(next)
      ? this.#hooks.clock.after(next - now, () => this.#watch())
      : undefined;
  }

  #whenIdle(): void {
    if (this.count > 0) return;
    this.#cancelWatch?.();
    this.#cancelWatch = undefined;
  }
}
