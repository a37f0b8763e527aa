import { Worker } from 'node:worker_threads';
import type { ProblemCode } from '../../../errors/problems.ts';
import type { Clock } from '../../../kit/clock.ts';
import { threadFile } from '../../../kit/thread-file.ts';
import type { DocumentType } from './document-types.ts';
import { UnreadableDocument, maxMemory, memoryInterval } from './unreadable-document.ts';

/** What a reading thread begins with. */
export interface ReadingThreadData {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: DocumentType;
}

/** What a reading thread answers: errors lose their class on the way between threads. */
export type ReadingMessage =
  | { readonly text: string }
  | { readonly unreadable: UnreadableDocument['reason']; readonly cause: string }
  | { readonly misconfigured: ProblemCode; readonly message: string };

const resourceLimits = { maxOldGenerationSizeMb: maxMemory / 1024 ** 2, maxYoungGenerationSizeMb: 64 };

/** A thread that reads one document. Its bytes are moved there, and can't be used here afterwards. */
export class ReadingThread {
  /** What the thread answers; rejects when it ends without an answer, or is given up. */
  readonly answer: Promise<ReadingMessage>;
  readonly giveUp: (reason: unknown) => void;
  readonly #worker: Worker;
  readonly #clock: Clock;
  #cancelWatch = () => {};

  constructor(workerData: ReadingThreadData, clock: Clock) {
    const { promise, resolve, reject } = Promise.withResolvers<ReadingMessage>();
    this.answer = promise;
    this.giveUp = reject;
    this.#clock = clock;
    this.#worker = new Worker(threadFile('reading-worker', import.meta.url), {
      workerData,
      transferList: [workerData.bytes.buffer],
      resourceLimits,
    });
    this.#worker.on('message', resolve);
    this.#worker.on('error', (error) => reject(reasonFor(error)));
    this.#worker.on('exit', () => reject(new UnreadableDocument('broken')));
    this.#watchMemory();
  }

  /** Ends the thread, whatever it does. */
  async end(): Promise<void> {
    this.#cancelWatch();
    await this.#worker.terminate();
  }

  /** The limit of a thread's heap doesn't count what lies beside it, such as the bytes that a stream unpacks to. */
  #watchMemory(): void {
    this.#cancelWatch = this.#clock.after(memoryInterval, () => {
      void this.#checkMemory();
      this.#watchMemory();
    });
  }

  async #checkMemory(): Promise<void> {
    if ((await this.#memory()) > maxMemory) this.giveUp(new UnreadableDocument('too_large'));
  }

  /** In bytes; 0 before the thread runs, after it has ended, and on a Node that can't tell (before 22.16). */
  async #memory(): Promise<number> {
    try {
      const { used_heap_size, external_memory } = await this.#worker.getHeapStatistics();
      return used_heap_size + external_memory;
    } catch {
      return 0;
    }
  }
}

/** Whatever else ends a thread is not due to the document, such as options of Node that a thread refuses. */
function reasonFor(error: unknown): unknown {
  const isOutOfMemory =
    error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
  return isOutOfMemory ? new UnreadableDocument('too_large', { cause: error }) : error;
}
