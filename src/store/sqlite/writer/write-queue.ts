import { setImmediate } from 'node:timers';
import { type Clock, runtimeTimer } from '../../../kit/clock.ts';
import { recordTimeout } from '../../timeouts.ts';
import type { EventRow } from '../work/record.ts';
import type { Recorded } from '../../shared/found-work.ts';
import type { ClaimOnEvent } from '../../shared/claimed-work.ts';
import { failureOf, groupBytes, groupWrites } from './write-group.ts';
import {
  type AnyWrite,
  type Batch,
  type Outcomes,
  type PendingOperation,
  type PendingWrite,
  type WriteFailure,
  type WriteMessage,
  type WrittenMessage,
  answer,
  errorOf,
  newBatch,
  packed,
  writesOf,
} from './write-message.ts';

/** How many writes may be in flight, so that they don't fill the memory when the disk is slow. */
const maxWrites = 16_384;
const maxBytes = 48 * 1024 * 1024;

/**
 * How many unsent writes, or bytes of them, are sent before the current turn of the event loop ends. A turn may bring
 * hundreds, and the writer thread would be idle meanwhile.
 */
const fullLoad = { count: 24, bytes: 512 * 1024 };

/** How long the ends of claims wait for an event to be sent with, in milliseconds. */
const endsDelay = 2;

/** The size of a commit when events come one by one: an event, and the end of the claim on the previous one. */
const fewWrites = 2;

/** The writes in flight: bounded, sent together, answered in order, given up in time. */
export abstract class WriteQueue {
  readonly #clock: Clock;
  #unsent: Batch = newBatch();
  /** Of each kind, in the order in which they will be answered. */
  #sent = newBatch();
  #count = 0;
  #bytes = 0;
  #isScheduled = false;
  #cancelEnds: (() => void) | undefined;
  /** The size of the last commit, in writes. */
  #lastWritten = 0;
  /** How long each of the last four commits with changes took, in milliseconds. */
  #took = [0, 0, 0, 0];
  #cancelDeadline: (() => void) | undefined;
  /** Why nothing is written any more. */
  #failure: WriteFailure | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sends writes to the writer thread together. */
  protected abstract send(message: WriteMessage, transfer: readonly ArrayBuffer[]): void;
  /** Receives at once what the writer thread has sent. */
  protected abstract receiveAll(): void;
  /** Called when every write has been answered. */
  protected abstract onIdle(): void;

  protected get isIdle(): boolean {
    return this.#count === 0;
  }

  get isOverloaded(): boolean {
    // If the event loop was blocked, results may be here already.
    if (this.#isFull()) this.receiveAll();
    return this.#isFull();
  }

  addEvent(write: PendingWrite<EventRow, Recorded>): void {
    this.#add(write, this.#unsent.events, true);
    // An event that comes alone is sent at once, with the end of the previous event's claim if that is unsent. If many
    // come, it waits for the others of the same turn of the event loop, which would otherwise have to wait for its
    // commit.
    if (this.#sent.events.length === 0 && this.#lastWritten <= fewWrites) this.#sendAll();
    else this.#sendThisTurn();
  }

  /**
   * The end of a claim, which nobody waits for, goes along with the next event if one comes soon. Sent alone, it would
   * have a commit of its own, for which the next event would have to wait.
   */
  addEnd(write: PendingWrite<ClaimOnEvent, boolean>): void {
    this.#add(write, this.#unsent.ends, false);
    // Not by the clock, which a test may have stopped: until the ends are sent, events look unhandled.
    if (this.#unsent.count > 0) this.#cancelEnds ??= runtimeTimer(endsDelay, () => this.#sendAll());
  }

  addOperation(write: PendingOperation): void {
    const { isAwaited = false, isAlone = false } = write;
    if (isAlone) {
      this.#sendAll();
      this.#unsent = newBatch(isAlone);
    }
    this.#add(write, this.#unsent.operations, isAwaited);
    if (isAlone) this.#sendAll();
    else this.#sendThisTurn();
  }

  /** Takes the outcomes of the writes of each kind that were sent first. */
  protected written({ made, took, ...outcomes }: WrittenMessage): void {
    const { events, ends, operations } = this.#sent;
    const writes = [
      ...events.splice(0, made.events),
      ...ends.splice(0, made.ends),
      ...operations.splice(0, made.operations),
    ];
    this.#lastWritten = writes.length;
    if (took !== undefined) this.#took = [...this.#took.slice(1), took];
    this.#end(writes, outcomes);
  }

  /** Fails all writes, now and later, because the writer thread has ended. */
  protected fail(failure: WriteFailure): void {
    this.#failure = failure;
    const writes = this.#inFlight();
    this.#sent = newBatch();
    this.#unsent = newBatch();
    this.#failAll(writes, failure);
  }

  /** Adds a write to those of its kind that are unsent. `isAwaited`: a sender waits for it. */
  #add<Write extends AnyWrite>(write: Write, unsent: Write[], isAwaited: boolean): void {
    const { bytes = 0 } = write;
    if (this.#failure) return write.onFailed(errorOf(this.#failure));
    if (isAwaited) {
      // Whatever its size, a body is taken when no other waits: `limits.body` may allow a larger one.
      if (this.#isFull() || (this.#bytes > 0 && this.#bytes + bytes > maxBytes))
        return write.onFailed(new Error('the database is overloaded'));
      write.deadline = this.#clock.elapsed() + recordTimeout;
      this.#cancelDeadline ??= this.#clock.after(recordTimeout, () => this.#giveUpOverdue());
    }
    unsent.push(write);
    this.#unsent.count += 1;
    this.#unsent.bytes += bytes;
    this.#count += 1;
    this.#bytes += bytes;
    if (this.#unsent.count >= fullLoad.count || this.#unsent.bytes >= fullLoad.bytes) this.#sendAll();
  }

  /** All writes of a turn are sent together: each message wakes the writer thread, which costs as much as an event. */
  #sendThisTurn(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#sendAll();
    });
  }

  #sendAll(): void {
    this.#cancelEnds?.();
    this.#cancelEnds = undefined;
    const batch = this.#unsent;
    this.#unsent = newBatch();
    if (batch.count === 0) return;
    const transfer = batch.operations.flatMap((operation) => operation.transfer ?? []);
    try {
      this.send(packed(batch), transfer);
    } catch (error) {
      // For want of memory, say. Among those that were sent, they would be given the outcomes of others.
      return this.#failAll(writesOf(batch), failureOf(error));
    }
    this.#sent.events.push(...batch.events);
    this.#sent.ends.push(...batch.ends);
    this.#sent.operations.push(...batch.operations);
  }

  /**
   * Whether an event added now would wait longer than its sender does: for the whole groups before it, and its own
   * commit. Accepted, it would be written for a sender that gets 503, at the expense of events that can be in time. The
   * fastest of the last four commits is the estimate, because a burst or a checkpoint may slow one down. Up to one
   * group is always accepted, because the disk may have been slow long ago. If no commit is fast enough for anybody,
   * events are accepted up to the memory bounds: they are written late, and the copies that are sent again are
   * duplicates.
   */
  #isFull(): boolean {
    if (this.#count >= maxWrites || this.#bytes >= maxBytes) return true;
    const groups = Math.max(Math.floor(this.#count / groupWrites), Math.floor(this.#bytes / groupBytes));
    const took = Math.min(...this.#took);
    return groups > 0 && took <= recordTimeout && (groups + 1) * took > recordTimeout;
  }

  #failAll(writes: readonly AnyWrite[], failure: WriteFailure): void {
    this.#end(writes, { results: [], failures: writes.map((_, index) => [index, failure]) });
  }

  #end(writes: readonly AnyWrite[], outcomes: Outcomes): void {
    this.#count -= writes.length;
    for (const { bytes = 0 } of writes) this.#bytes -= bytes;
    answer(writes, outcomes);
    if (this.#count > 0) return;
    this.#cancelDeadline?.();
    this.#cancelDeadline = undefined;
    this.onIdle();
  }

  /** Gives up waiting for overdue writes, so that a delivery is answered while its sender still waits. */
  #giveUpOverdue(): void {
    // If the event loop was blocked, results may be here already.
    this.receiveAll();
    const now = this.#clock.elapsed();
    let next = Infinity;
    for (const write of this.#inFlight()) {
      const { deadline = Infinity } = write;
      if (deadline > now) next = Math.min(next, deadline);
      else {
        write.deadline = undefined;
        const error = new Error('the database did not take it in time');
        if (write.onGivenUp) write.onGivenUp(error);
        else write.onFailed(error);
      }
    }
    this.#cancelDeadline = Number.isFinite(next)
      ? this.#clock.after(next - now, () => this.#giveUpOverdue())
      : undefined;
  }

  #inFlight(): AnyWrite[] {
    return [...writesOf(this.#sent), ...writesOf(this.#unsent)];
  }
}
