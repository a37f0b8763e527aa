import { MessageChannel, type MessagePort, Worker, receiveMessageOnPort } from 'node:worker_threads';
import { type Clock, holdProcess } from '../../kit/clock.ts';
import { recordPatience } from './commit-group.ts';
import {
  type CommitThreadData,
  type FromCommitThread,
  type ToCommitThread,
  type WriteItem,
  type WrittenMessage,
  packed,
  readyMessage,
} from './commit-message.ts';
import { SyncRequests } from './sync-requests.ts';
import { threadFile } from './thread-file.ts';
import { type MainTurn, turnMessage } from './turn.ts';

/** Writes under way at the most: a disk that falls behind must not take the process's memory. */
const mostWrites = 16_384;
const mostBytes = 48 * 1024 * 1024;

/** So many go without waiting: one turn of the event loop may bring hundreds, and the thread would stand idle. */
const fullLoad = 24;

/** What it makes is short-lived: a larger young heap is memory for nothing. */
const resourceLimits = { maxYoungGenerationSizeMb: 6 };

/** A write that the commit thread has been given, or is about to be. */
interface Write {
  readonly item: WriteItem;
  readonly bytes: number;
  /** When whoever sent it no longer waits, on the clock that never jumps; settlements have no end. */
  readonly deadline: number;
  /** Called once, whether or not anybody still waits: what was written has an effect all the same. */
  readonly onWritten: (code: number) => void;
  readonly onFailed: (error: Error) => void;
  /** Which event it is, counted from 1; 0 for a settlement. */
  readonly number: number;
  isGivenUp: boolean;
}

/** What the main thread has of the commit thread: it sends writes, and hears what became of them, in order. */
export class CommitThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #clock: Clock;
  readonly #turn: MainTurn;
  readonly #exited: Promise<unknown>;
  readonly #readiness: Promise<void>;
  #onReady = () => {};
  /** Not sent yet: all writes of one turn of the event loop go together. */
  #unsent: Write[] = [];
  /** In the order in which they will be answered. */
  #sent: Write[] = [];
  #bytes = 0;
  #isScheduled = false;
  #isGone = false;
  readonly #givenUp = new BigInt64Array(new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT));
  #events = 0;
  #cancelWatch: (() => void) | undefined;
  readonly #syncs = new SyncRequests((message) => {
    this.#port.ref();
    this.#tell(message);
  });
  #idle: (() => void)[] = [];

  constructor(data: Pick<CommitThreadData, 'file' | 'process' | 'identity'>, turn: MainTurn, clock: Clock) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#clock = clock;
    this.#turn = turn;
    const shared = { turn: turn.memory, givenUp: this.#givenUp };
    const workerData: CommitThreadData = { ...data, ...shared, port: port2 };
    this.#worker = new Worker(threadFile('commit-worker'), {
      workerData,
      transferList: [port2],
      resourceLimits,
    });
    // A process stays for the sake of writes under way, not for a thread that waits for some.
    this.#worker.unref();
    this.#worker.on('error', (error) => this.#onGone(error));
    this.#exited = new Promise((resolve) => this.#worker.on('exit', resolve));
    this.#readiness = new Promise((resolve, reject) => {
      this.#onReady = resolve;
      this.#worker.once('error', reject);
    });
    this.#readiness.catch(() => {});
    void this.#exited.then(() => this.#onGone(new Error('the commit thread ended')));
    port1.on('message', (message: FromCommitThread) => this.#hear(message));
    port1.unref();
  }

  /** Resolves when it can write; rejects when it never will. */
  async ready(): Promise<void> {
    const letGo = holdProcess();
    await this.#readiness.finally(letGo);
  }

  /** Whether it has ended, and can't write any more. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Writes an event; fails when that can't be done before its sender gives up. */
  record(item: WriteItem, bytes: number, onWritten: Write['onWritten'], onFailed: Write['onFailed']): void {
    const isFull = this.#count >= mostWrites || this.#bytes + bytes > mostBytes;
    if (isFull) return onFailed(new Error('the database has fallen behind'));
    const deadline = this.#clock.elapsed() + recordPatience;
    this.#events += 1;
    this.#add({ item, bytes, deadline, onWritten, onFailed, number: this.#events, isGivenUp: false });
    this.#cancelWatch ??= this.#clock.after(recordPatience, () => this.#watch());
    // While the thread has nothing to do, an event waits for no company.
    if (this.#sent.length === 0) this.#send();
  }

  /** Writes a settlement, however long that takes. */
  settle(item: WriteItem, onWritten: Write['onWritten'], onFailed: Write['onFailed']): void {
    this.#add({ item, bytes: 0, deadline: Infinity, onWritten, onFailed, number: 0, isGivenUp: false });
  }

  /** Resolves when what the main thread has written so far is on disk; rejects when that can't be known. */
  async synced(): Promise<void> {
    await this.#syncs.add();
  }

  /** Hears at once what has been written so far: whoever has the turn then knows of all of it. */
  hearAll(): void {
    for (let more = receiveMessageOnPort(this.#port); more; more = receiveMessageOnPort(this.#port)) {
      this.#hear(more.message as FromCommitThread);
    }
  }

  /** Resolves when nothing is left to write. */
  async drained(): Promise<void> {
    if (this.#count === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Writes what is left, and ends the thread. */
  async close(): Promise<void> {
    await this.drained();
    if (this.#isGone) return;
    this.#worker.ref();
    this.#tell('close');
    await this.#exited;
  }

  get #count(): number {
    return this.#unsent.length + this.#sent.length + this.#syncs.count;
  }

  #add(write: Write): void {
    if (this.#isGone) return write.onFailed(new Error('the commit thread has ended'));
    this.#unsent.push(write);
    this.#bytes += write.bytes;
    // Together, as far as they come in one turn: each message wakes the other side, which costs as much as an event.
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
    if (this.#sent.length === 0) this.#port.ref();
    for (const write of writes) this.#sent.push(write);
    const items = writes.map(({ item }) => item);
    const message = packed(items);
    this.#tell(message, [message.bodies]);
  }

  #tell(message: ToCommitThread, transfer: ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  #hear(message: FromCommitThread): void {
    if (message === turnMessage) return this.#turn.granted();
    if (message === readyMessage) return this.#onReady();
    if ('results' in message) return this.#hearWritten(message);
    this.#syncs.hear(message);
    this.#rest();
  }

  #hearWritten({ results, failures }: WrittenMessage): void {
    const reasons = new Map(failures);
    const writes = this.#sent.slice(0, results.length);
    this.#sent = this.#sent.slice(results.length);
    for (const [place, write] of writes.entries()) {
      const reason = reasons.get(place);
      if (reason === undefined) this.#end(write, () => write.onWritten(results[place] ?? 0));
      else this.#end(write, () => write.onFailed(new Error(reason)));
    }
    this.#rest();
  }

  #end(write: Write, tell: () => void): void {
    this.#bytes -= write.bytes;
    // Whatever comes of one of them, the others have been written too.
    try {
      tell();
    } catch (error) {
      write.onFailed(error as Error);
    }
  }

  /** Gives up what nobody waits for any more: the answer must be given while the sender is still there. */
  #watch(): void {
    // Where the app has stood still, it is not the disk that was slow.
    this.hearAll();
    const now = this.#clock.elapsed();
    let next = Infinity;
    for (const write of [...this.#sent, ...this.#unsent]) {
      if (write.isGivenUp) continue;
      if (write.deadline > now) next = Math.min(next, write.deadline);
      else {
        write.isGivenUp = true;
        // Events are given up in the order in which they were sent: all have the same patience.
        Atomics.store(this.#givenUp, 0, BigInt(write.number));
        write.onFailed(new Error('the database did not take it in time'));
      }
    }
    this.#cancelWatch = Number.isFinite(next)
      ? this.#clock.after(next - now, () => this.#watch())
      : undefined;
  }

  #onGone(error: Error): void {
    if (this.#isGone) return;
    this.hearAll();
    this.#isGone = true;
    this.#turn.abandonedByThread();
    const writes = [...this.#sent, ...this.#unsent];
    this.#sent = [];
    this.#unsent = [];
    for (const write of writes) this.#end(write, () => write.onFailed(error));
    this.#syncs.fail(error);
    this.#rest();
    this.#port.close();
  }

  #rest(): void {
    if (this.#sent.length + this.#syncs.count === 0) this.#port.unref();
    if (this.#count > 0) return;
    this.#cancelWatch?.();
    this.#cancelWatch = undefined;
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}
