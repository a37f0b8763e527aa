/**
 * Writer threads that receivers and stores in this process use one after another. Starting a thread with its modules
 * takes a tenth of a second of CPU, ten times as much as the rest of opening a file, and most tests write only a few
 * rows. Processes that tests start have threads as an app has.
 */
import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import threads, { type Worker, type WorkerOptions } from 'node:worker_threads';

const writerFile = '/store/sqlite/writer/writer-worker.ts';
const reusedFile = new URL('../store/sqlite/writer-threads-worker.ts', import.meta.url);
const marker = Symbol.for('ringback.writerThreads');
/** How many idle threads are kept: each takes 30 MB, and few tests have more files open. */
const maxIdle = 4;
const idle: Worker[] = [];

/** Stands in for a writer's own thread. */
class BorrowedThread extends EventEmitter {
  readonly #thread: Worker;

  constructor(RealWorker: typeof Worker, { workerData, transferList, resourceLimits }: WorkerOptions) {
    super();
    const thread = idle.pop() ?? new RealWorker(reusedFile, { resourceLimits });
    this.#thread = thread;
    const ended = (code: number) => this.emit('exit', code);
    thread.once('error', (error) => this.emit('error', error)).once('exit', ended);
    thread.once('message', () => {
      thread.removeAllListeners('error').removeListener('exit', ended).unref();
      if (idle.length < maxIdle) idle.push(thread);
      else void thread.terminate();
      ended(0);
    });
    thread.postMessage(workerData, transferList);
  }

  ref(): void {
    this.#thread.ref();
  }

  unref(): void {
    this.#thread.unref();
  }
}

// This module runs once for each test file, even where files share the process.
if (!Object.hasOwn(threads, marker)) {
  Object.defineProperty(threads, marker, { value: true });
  threads.Worker = new Proxy(threads.Worker, {
    construct(RealWorker, [file, options]: [URL | string, WorkerOptions]) {
      const isWriter = String(file).endsWith(writerFile);
      return isWriter ? new BorrowedThread(RealWorker, options) : new RealWorker(file, options);
    },
  });
  syncBuiltinESMExports();
}
