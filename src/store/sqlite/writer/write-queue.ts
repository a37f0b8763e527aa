import { setImmediate } from 'node:timers';
import { type Clock, runtimeTimer } from '../../../kit/clock.ts';
import { recordTimeout } from '../../timeouts.ts';
import { groupBytes, groupWrites } from './write-group.ts';
import { type WriteFailure, type WriteItem, type WrittenMessage, isEndOfClaim } from './write-message.ts';
import { type PendingWrite, errorOf } from './writer.ts';

/** How many writes may be in flight, so that they don't fill the memory when the disk is slow. */
const maxWrites = 16_384;
const maxBytes = 48 * 1024 * 1024;

/**
 * How many unsent writes are sent before the turn of the event loop ends. A turn may bring hundreds, and the writer
 * thread would be idle meanwhile.
 */
const fullLoad = 24;

/** How long the ends of claims wait for an event to be sent with, in milliseconds. */
const endsDelay = 2;

/** The size of a commit when events come one by one: an event, and the end of the claim on the previous one. */
const fewWrites = 2;

interface Write extends PendingWrite {
  /** When its sender stops waiting, by the monotonic clock; undefined if nobody waits, or nobody any more. */
  deadline?: number | undefined;
}

/** What the queue needs from the owner of the writer thread. */
export interface QueueHooks {
  readonly clock: Clock;
  /** Sends writes to the writer thread together. */
  readonly send: (items: readonly WriteItem[], transfer: ArrayBuffer[]) => void;
  /** Receives at once what the writer thread has sent. */
  readonly receiveAll: () => void;
}

/** The writes in flight: bounded, sent together, answered in order, given up in time. */
export class WriteQueue {
  readonly #hooks: QueueHooks;
  #unsent: Write[] = [];
  /** In the order in which they will be answered. */
  #sent: Write[] = [];
  /** How many of the sent writes are awaited. */
  #sentAwaited = 0;
  #bytes = 0;
  #isScheduled = false;
  #cancelEnds: (() => void) | undefined;
  /** The size of the last commit, in writes. */
  #lastWritten = 0;
  /** How long each of the last four commits with changes took, in milliseconds. */
  #took = [0, 0, 0, 0];
  #cancelWatch: (() => void) | undefined;

  constructor(hooks: QueueHooks) {
    this.#hooks = hooks;
  }

  /** How many writes have not been answered. */
  get count(): number {
    return this.#unsent.length + this.#sent.length;
  }

  /**
   * Whether an event added now would wait longer than its sender does: for the whole groups before it, and its own
   * commit. Accepted, it would be written for a sender that gets 503, at the expense of events that can be in time. The
   * fastest of the last four commits is the estimate, because a burst or a checkpoint may slow one down. Up to one
   * group is always accepted, because the disk may have been slow long ago. If no commit is fast enough for anybody,
   * events are accepted up to the memory bounds: they are written late, and the copies that are sent again are
   * duplicates.
   */
  get isOverloaded(): boolean {
    if (this.count >= maxWrites || this.#bytes >= maxBytes) return true;
    const groups = Math.max(Math.floor(this.count / groupWrites), Math.floor(this.#bytes / groupBytes));
    const took = Math.min(...this.#took);
    return groups > 0 && took <= recordTimeout && (groups + 1) * took > recordTimeout;
  }

  /** Adds a write. An awaited one fails if it can't be made in time. */
  add(write: Write): void {
    const { clock } = this.#hooks;
    const { isAwaited, bytes } = write;
    if (isAwaited) {
      if (this.isOverloaded || this.#bytes + bytes > maxBytes)
        return write.onFailed(new Error('the database is overloaded'));
      write.deadline = clock.elapsed() + recordTimeout;
      this.#cancelWatch ??= clock.after(recordTimeout, () => this.#watch());
    }
    this.#unsent.push(write);
    this.#bytes += bytes;
    this.#sendOrWait(write);
  }

  /** Takes the outcomes of the writes that were sent first. */
  written({ results, failures, took }: WrittenMessage): void {
    this.#lastWritten = results.length;
    if (took !== undefined) this.#took = [...this.#took.slice(1), took];
    const reasons = new Map(failures);
    const writes = this.#sent.slice(0, results.length);
    this.#sent = this.#sent.slice(results.length);
    this.#sentAwaited -= writes.filter(({ isAwaited }) => isAwaited).length;
    for (const [index, write] of writes.entries()) this.#end(write, results[index], reasons.get(index));
    this.#whenIdle();
  }

  /** Fails all writes, because the writer thread has ended. */
  fail(failure: WriteFailure): void {
    const writes = [...this.#sent, ...this.#unsent];
    this.#sent = [];
    this.#sentAwaited = 0;
    this.#unsent = [];
    for (const write of writes) this.#end(write, undefined, failure);
    this.#whenIdle();
  }

  /** Sends the unsent writes, of which the given one is the last, now or later. */
  #sendOrWait({ item, isAwaited }: Write): void {
    if (this.#unsent.length >= fullLoad) return this.#send();
    // An event that comes alone is sent at once, with the end of the previous event's claim if that is unsent. If many
    // come, it waits for the others of the same turn of the event loop, which would otherwise have to wait for its
    // commit.
    const isFirst = this.#sentAwaited === 0 && this.#lastWritten <= fewWrites;
    if (isAwaited && isFirst) return this.#send();
    // The end of a claim, which nobody waits for, goes along with the next event if one comes soon. Sent alone, it
    // would have a commit of its own, for which the next event would have to wait.
    if (isEndOfClaim(item)) {
      // Not by the clock, which a test may have stopped: until the ends are sent, events look unhandled.
      this.#cancelEnds ??= runtimeTimer(endsDelay, () => this.#send());
      return;
    }
    // All writes of a turn are sent together: each message wakes the writer thread, which costs as much as an event.
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    this.#cancelEnds?.();
    this.#cancelEnds = undefined;
    const writes = this.#unsent;
    if (writes.length === 0) return;
    this.#unsent = [];
    const items: WriteItem[] = [];
    const transfers: ArrayBuffer[] = [];
    for (const write of writes) {
      this.#sent.push(write);
      if (write.isAwaited) this.#sentAwaited += 1;
      items.push(write.item);
      if (write.transfer) transfers.push(...write.transfer);
    }
    this.#hooks.send(items, transfers);
  }

  #end({ bytes, onWritten, onFailed }: Write, result: unknown, failure: WriteFailure | undefined): void {
    this.#bytes -= bytes;
    if (failure) return onFailed(errorOf(failure));
    // An error in one callback must not affect the other writes, which were written too.
    try {
      onWritten(result);
    } catch (error) {
      onFailed(error as Error);
    }
  }

  /** Gives up waiting for overdue writes, so that a delivery is answered while its sender still waits. */
  #watch(): void {
    // If the event loop was blocked, results may be here already.
    this.#hooks.receiveAll();
    const now = this.#hooks.clock.elapsed();
    let next = Infinity;
    for (const write of [...this.#sent, ...this.#unsent]) {
      const { deadline = Infinity, onFailed, onGivenUp = onFailed } = write;
      if (deadline > now) next = Math.min(next, deadline);
      else {
        write.deadline = undefined;
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
