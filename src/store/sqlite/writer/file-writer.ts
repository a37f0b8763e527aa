import { MessageChannel, type MessagePort, Worker, receiveMessageOnPort } from 'node:worker_threads';
import { type Clock, refProcess } from '../../../kit/clock.ts';
import { threadFile } from '../../../kit/files.ts';
import { BorrowedLock, type LockedWork } from './write-lock.ts';
import {
  type FromWriter,
  type ToWriter,
  type WriteFailure,
  type WriteMessage,
  type Writer,
  type WriterData,
  errorOf,
} from './write-message.ts';
import { WriteQueue } from './write-queue.ts';

/** The thread's objects are short-lived, so it needs no larger young heap. */
const resourceLimits = { maxYoungGenerationSizeMb: 3 };

const hasEnded: WriteFailure = { message: 'the writer thread has ended', code: undefined };

interface WriterNotices {
  /** The database or its WAL has been deleted or replaced; `found` ends a sentence. */
  readonly onReplaced: (found: string) => void;
  /** The thread has ended unexpectedly. */
  readonly onGone: () => void;
}

/** The app's side of the writer thread: sends writes, and receives their outcomes in order. */
export class FileWriter extends WriteQueue implements Writer {
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #lock = new BorrowedLock();
  readonly #exited: Promise<unknown>;
  readonly #readiness = Promise.withResolvers<void>();
  readonly #notices: WriterNotices;
  #isGone = false;
  #isClosing = false;
  #idle: (() => void)[] = [];

  constructor(data: Pick<WriterData, 'file' | 'files'>, clock: Clock, notices: WriterNotices) {
    super(clock);
    this.#notices = notices;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const workerData: WriterData = { ...data, lock: this.#lock.memory, port: port2 };
    this.#worker = new Worker(threadFile('writer-worker', import.meta.url), {
      workerData,
      transferList: [port2],
      resourceLimits,
    });
    // Writes in flight keep the process alive; an idle writer thread doesn't.
    this.#worker.unref();
    this.#worker.on('error', (error) => {
      this.#readiness.reject(error);
      this.#gone({ message: error.message, code: undefined });
    });
    this.#exited = new Promise((resolve) => this.#worker.on('exit', resolve));
    this.#readiness.promise.catch(() => {});
    void this.#exited.then(() => this.#gone(hasEnded));
    this.#lock.writerBegins(() => this.#post('grant'));
    port1.on('message', this.#received);
    port1.unref();
  }

  async ready(): Promise<void> {
    const unref = refProcess();
    await this.#readiness.promise.finally(unref);
  }

  borrowLock(work: LockedWork): void {
    this.#lock.later(work);
  }

  borrowLockNow<T>(work: () => T): T {
    return this.#lock.now(work);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    if (!this.isIdle) await new Promise<void>((resolve) => this.#idle.push(resolve));
    if (this.#isGone) return;
    this.#worker.ref();
    this.#post('close');
    await this.#exited;
  }

  protected send(message: WriteMessage, transfer: readonly ArrayBuffer[]): void {
    this.#port.ref();
    this.#port.postMessage(message, [message.bodies, ...transfer]);
  }

  protected receiveAll(): void {
    for (let more = receiveMessageOnPort(this.#port); more; more = receiveMessageOnPort(this.#port)) {
      this.#received(more.message as FromWriter);
    }
  }

  protected onIdle(): void {
    this.#port.unref();
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  readonly #received = (message: FromWriter): void => {
    if (message === 'answered') this.#lock.onAnswered();
    else if (message === 'ready') this.#readiness.resolve();
    else if ('replaced' in message) this.#notices.onReplaced(message.replaced);
    else this.written(message);
  };

  #post(message: Exclude<ToWriter, WriteMessage>): void {
    this.#port.postMessage(message, []);
  }

  #gone(failure: WriteFailure): void {
    if (this.#isGone) return;
    this.receiveAll();
    this.#isGone = true;
    this.#readiness.reject(errorOf(failure));
    this.#lock.writerEnded();
    this.fail(failure);
    this.#port.close();
    if (!this.#isClosing) this.#notices.onGone();
  }
}
