import { MessageChannel, type MessagePort, Worker, receiveMessageOnPort } from 'node:worker_threads';
import { type Clock, holdProcess } from '../../../kit/clock.ts';
import {
  type CommitThreadData,
  type FromCommitThread,
  type ToCommitThread,
  type WriteItem,
  packed,
  readyMessage,
} from './commit-message.ts';
import { SyncRequests } from './sync-requests.ts';
import { threadFile } from './thread-file.ts';
import { type MainTurn, turnMessage } from './turn.ts';
import { WriteQueue } from './write-queue.ts';

/** The thread's objects are short-lived: a larger young heap would take memory for nothing. */
const resourceLimits = { maxYoungGenerationSizeMb: 3 };

/** The main thread's side of the commit thread: it sends writes, and hears in order what became of them. */
export class CommitThread {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #turn: MainTurn;
  readonly #exited: Promise<unknown>;
  readonly #readiness: Promise<void>;
  readonly #onReplaced: (found: string) => void;
  #onReady = () => {};
  #isGone = false;
  readonly #queue: WriteQueue;
  readonly #syncs = new SyncRequests((message) => {
    this.#port.ref();
    this.#tell(message);
  });
  #idle: (() => void)[] = [];

  /** `onReplaced` is called when the thread finds that the database or its WAL has been deleted or replaced. */
  constructor(
    data: Pick<CommitThreadData, 'file' | 'files' | 'process' | 'identity'>,
    turn: MainTurn,
    clock: Clock,
    onReplaced: (found: string) => void,
  ) {
    this.#onReplaced = onReplaced;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#turn = turn;
    this.#queue = new WriteQueue({
      clock,
      send: (items) => this.#send(items),
      hearAll: () => this.hearAll(),
    });
    const shared = { turn: turn.memory, givenUp: this.#queue.givenUp };
    const workerData: CommitThreadData = { ...data, ...shared, port: port2 };
    this.#worker = new Worker(threadFile('commit-worker'), {
      workerData,
      transferList: [port2],
      resourceLimits,
      // See LogIndex: its file must outlive the thread.
      trackUnmanagedFds: false,
    });
    // Writes in flight keep the process alive; a thread that waits for writes doesn't.
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

  /** Resolves when the thread can write; rejects when it never will. */
  async ready(): Promise<void> {
    const letGo = holdProcess();
    await this.#readiness.finally(letGo);
  }

  /** Whether the thread has ended, and can't write any more. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Whether an event that came now would have to wait for longer than its sender does. */
  get isOverloaded(): boolean {
    // If the app's event loop has was blocked, results may be here already, and nothing waits any more.
    if (this.#queue.isOverloaded) this.hearAll();
    return this.#queue.isOverloaded;
  }

  /** Writes an event, or a delivery into quarantine; fails when that can't be done before its sender gives up. */
  record(...[item, bytes, onWritten, onFailed]: Parameters<WriteQueue['record']>): void {
    if (this.#isGone) return onFailed(hasEnded());
    this.#queue.record(item, bytes, onWritten, onFailed);
  }

  /** Writes a settlement, however long that takes. */
  settle(...[item, onWritten, onFailed]: Parameters<WriteQueue['settle']>): void {
    if (this.#isGone) return onFailed(hasEnded());
    this.#queue.settle(item, onWritten, onFailed);
  }

  /** Resolves when what the main thread has written so far is on disk; rejects when that can't be known. */
  async synced(): Promise<void> {
    await this.#syncs.add();
  }

  /**
   * Hears at once all that the commit thread has reported so far: when the main thread has the turn, it must know all
   * of it.
   */
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

  /** From now on, writes that would have to wait for a lock fail. */
  abandon(): void {
    this.#queue.abandon();
  }

  get #count(): number {
    return this.#queue.count + this.#syncs.count;
  }

  #send(items: readonly WriteItem[]): void {
    this.#port.ref();
    const message = packed(items);
    this.#tell(message, [message.bodies]);
  }

  #tell(message: ToCommitThread, transfer: ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  #hear(message: FromCommitThread): void {
    if (message === turnMessage) return this.#turn.granted();
    if (message === readyMessage) return this.#onReady();
    if ('replaced' in message) return this.#onReplaced(message.replaced);
    if ('results' in message) this.#queue.hearWritten(message);
    else this.#syncs.hear(message);
    this.#rest();
  }

  #onGone(error: Error): void {
    if (this.#isGone) return;
    this.hearAll();
    this.#isGone = true;
    this.#turn.abandonedByThread();
    this.#queue.fail(error);
    this.#syncs.fail(error);
    this.#rest();
    this.#port.close();
  }

  #rest(): void {
    if (this.#count > 0) return;
    this.#port.unref();
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

function hasEnded(): Error {
  return new Error('the commit thread has ended');
}
