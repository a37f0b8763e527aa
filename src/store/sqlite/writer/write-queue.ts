import { setImmediate } from 'node:timers';
import type { Clock } from '../../../kit/clock.ts';
import { recordTimeout } from './commit-group.ts';
import { type WriteItem, type WriteResult, type WrittenMessage, hasChanged } from './commit-message.ts';
import { fewWrites, groupBytes, groupWrites } from './incoming.ts';

/** How many writes may be in flight: a disk that falls behind must not take the process's memory. */
const maxWrites = 16_384;
const maxBytes = 48 * 1024 * 1024;

/**
 * At how many writes they are sent without waiting for the end of the turn: one turn of the event loop may bring
 * hundreds, and the commit thread would be idle meanwhile.
 */
const fullLoad = 24;

/** A write that the commit thread has been given, or is about to be. */
interface Write {
  readonly item: WriteItem;
  readonly bytes: number;
  /** When its sender no longer waits, on the clock that never jumps; settlements have no deadline. */
  readonly deadline: number;
  /** Called once, whether or not anybody still waits: what was written has an effect all the same. */
  readonly onWritten: (result: WriteResult) => void;
  readonly onFailed: (error: Error) => void;
  /** Which event it is, counted from 1; 0 for a settlement. */
  readonly number: number;
  isGivenUp: boolean;
}

/** What the queue needs of the owner of the commit thread. */
export interface QueueTies {
  readonly clock: Clock;
  /** Sends writes to the commit thread together. */
  readonly send: (items: readonly WriteItem[]) => void;
  /** Hears at once what the commit thread has reported so far. */
  readonly hearAll: () => void;
}

/** Writes on their way to the commit thread and back: bounded, sent in groups, answered in order, given up in time. */
export class WriteQueue {
  /** What nobody waits for any more, in memory that the commit thread shares: see `CommitThreadData`. */
  readonly givenUp = new BigInt64Array(new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT));
  readonly #ties: QueueTies;
  /** Not sent yet: all writes of one turn of the event loop go together. */
  #unsent: Write[] = [];
  /** In the order in which they will be answered. */
  #sent: Write[] = [];
  /** How many of these are events. */
  #sentEvents = 0;
  #bytes = 0;
  #isScheduled = false;
  #events = 0;
  /** How many writes were last written together. */
  #lastWritten = 0;
  /** How long each of the last four commits took that have changed something, in milliseconds. */
  #took = [0, 0, 0, 0];
  #cancelWatch: (() => void) | undefined;

  constructor(ties: QueueTies) {
    this.#ties = ties;
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

  /** Adds an event, or a delivery for the quarantine; it fails when it can't be written before its sender gives up. */
  record(item: WriteItem, bytes: number, onWritten: Write['onWritten'], onFailed: Write['onFailed']): void {
    if (this.isOverloaded || this.#bytes + bytes > maxBytes)
      return onFailed(new Error('the database has fallen behind'));
    const deadline = this.#ties.clock.elapsed() + recordTimeout;
    this.#events += 1;
    this.#add({ item, bytes, deadline, onWritten, onFailed, number: this.#events, isGivenUp: false });
    this.#cancelWatch ??= this.#ties.clock.after(recordTimeout, () => this.#watch());
    // An event that comes alone is sent at once, also if the mark of the one before still waits for it. Where many
    // come, it waits for the others of the same turn of the event loop: if it were sent ahead of them, it would have a
    // commit of its own, and they would wait for that.
    if (this.#sentEvents === 0 && this.#lastWritten <= fewWrites) this.#send();
  }

  /** Adds a settlement, which is written however long that takes. */
  settle(item: WriteItem, onWritten: Write['onWritten'], onFailed: Write['onFailed']): void {
    this.#add({ item, bytes: 0, deadline: Infinity, onWritten, onFailed, number: 0, isGivenUp: false });
  }

  /** The commit thread tells what became of those that were sent first. */
  hearWritten({ results, failures, took }: WrittenMessage): void {
    this.#lastWritten = results.length;
    // What changes nothing is not synced: such a commit is fast on the slowest of disks.
    if (results.some(hasChanged)) this.#took = [...this.#took.slice(1), took];
    const reasons = new Map(failures);
    const writes = this.#sent.slice(0, results.length);
    this.#sent = this.#sent.slice(results.length);
    for (const write of writes) this.#sentEvents -= countOf(write);
    for (const [place, write] of writes.entries()) {
      const reason = reasons.get(place);
      if (reason === undefined) this.#end(write, () => write.onWritten(results[place] ?? 0));
      else this.#end(write, () => write.onFailed(new Error(reason)));
    }
    this.#rest();
  }

  /** What can't be written at once is given up, settlements too. */
  abandon(): void {
    Atomics.store(this.givenUp, 1, 1n);
  }

  /** The commit thread has ended: whatever it has not answered fails. */
  fail(error: Error): void {
    const writes = [...this.#sent, ...this.#unsent];
    this.#sent = [];
    this.#sentEvents = 0;
    this.#unsent = [];
    for (const write of writes) this.#end(write, () => write.onFailed(error));
    this.#rest();
  }

  #add(write: Write): void {
    this.#unsent.push(write);
    this.#bytes += write.bytes;
    // Writes of one turn are sent together: each message wakes the other thread, which costs as much as an event.
    if (this.#unsent.length >= fullLoad) this.#send();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#send();
    });
  }

  #send(): void {
    const writes = this.#unsent;
    if (writes.length === 0) return;
    this.#unsent = [];
    for (const write of writes) {
      this.#sent.push(write);
      this.#sentEvents += countOf(write);
    }
    this.#ties.send(writes.map(({ item }) => item));
  }

  #end(write: Write, tell: () => void): void {
    this.#bytes -= write.bytes;
    // What one callback throws must not concern the other writes: they have been written too.
    try {
      tell();
    } catch (error) {
      write.onFailed(error as Error);
    }
  }

  /** Gives up events that nobody waits for any more: their answer must be given while the sender is still there. */
  #watch(): void {
    // If the app's event loop has was blocked, results may be here already, and the disk was not slow.
    this.#ties.hearAll();
    const now = this.#ties.clock.elapsed();
    let next = Infinity;
    for (const write of [...this.#sent, ...this.#unsent]) {
      if (write.isGivenUp) continue;
      if (write.deadline > now) next = Math.min(next, write.deadline);
      else {
        write.isGivenUp = true;
        // Events are given up in the order in which they were sent: all have the same timeout.
        Atomics.store(this.givenUp, 0, BigInt(write.number));
        write.onFailed(new Error('the database did not take it in time'));
      }
    }
    this.#cancelWatch = Number.isFinite(next)
      ? this.#ties.clock.after(next - now, () => this.#watch())
      : undefined;
  }

  #rest(): void {
    if (this.count > 0) return;
    this.#cancelWatch?.();
    this.#cancelWatch = undefined;
  }
}

/** As how many events a write counts. */
function countOf({ number }: Write): number {
  return number > 0 ? 1 : 0;
}
