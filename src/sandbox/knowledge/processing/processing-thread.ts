import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../kit/clock.ts';
import { codeOf } from '../../../kit/error-text.ts';
import { threadFile } from '../../../kit/own-files.ts';
import type { ChunkOptions } from '../chunking/chunk.ts';
import { DocumentFailure, type DocumentProblem, UnreadableDocument } from '../document-problem.ts';
import type { EmbeddingService } from '../embedding/embedder-for.ts';
import type { Material } from '../reading/read-document.ts';

/** How long reading a document may take, in milliseconds, with the start of the thread. */
const readingTimeout = 60_000;
/** How long cutting and embedding may take, in milliseconds: an embedding service is asked many times. */
const embeddingTimeout = 600_000;
/** The most memory of the thread, in bytes, on its heap and beside it. */
const maxMemory = 1024 * 1024 * 1024;
/** How often the memory is looked at, in milliseconds. */
const memoryInterval = 50;

const resourceLimits = { maxOldGenerationSizeMb: maxMemory / 1024 ** 2, maxYoungGenerationSizeMb: 64 };

/** What the thread begins with. */
export interface ThreadData {
  readonly service: EmbeddingService | undefined;
}

/** One document: a file, or pages in their order. */
export interface ProcessingJob {
  readonly materials: readonly Material[];
  readonly chunking: ChunkOptions;
  /** The embedding model. */
  readonly model: string;
}

/** What is stored of a document. */
export interface ProcessedDocument {
  readonly chunks: readonly string[];
  /** One for each chunk. */
  readonly vectors: readonly Float32Array[];
  /** Those of the chunks, as `Frequencies` writes them. */
  readonly frequencies: Uint8Array;
}

/** What the thread tells: that a document is read, and how its processing has ended. */
export type ProcessingMessage =
  | { readonly kind: 'read' }
  | { readonly kind: 'processed'; readonly document: ProcessedDocument }
  | { readonly kind: 'failed'; readonly problem: DocumentProblem }
  | { readonly kind: 'unexpected'; readonly cause: string };

/**
 * Processes documents on a thread, one at a time: a document is whatever a stranger has made, and must not block the sandbox,
 * nor fill its memory. The thread is started for the first document; one on which a document failed is ended, whatever it does.
 */
export class ProcessingThread {
  readonly #data: ThreadData;
  readonly #clock: Clock;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(data: ThreadData, clock: Clock) {
    this.#data = data;
    this.#clock = clock;
  }

  /**
   * Processes a document after those that were given before. Its bytes are copied.
   *
   * @param signal Ends the processing, which then rejects with the signal's reason
   * @param begins Called when it is the document's turn
   * @throws DocumentFailure
   */
  process(job: ProcessingJob, signal: AbortSignal, begins = () => {}): Promise<ProcessedDocument> {
    const processing = this.#last.then(() => {
      signal.throwIfAborted();
      begins();
      return this.#process(job, signal);
    });
    this.#last = processing.catch(() => {});
    return processing;
  }

  /** Ends the thread. It is started again if another document is given. */
  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    // Until the thread has ended, it takes memory that the next one may need.
    await worker?.terminate();
  }

  async #process(job: ProcessingJob, signal: AbortSignal): Promise<ProcessedDocument> {
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<ProcessedDocument>();
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort);
    const watch = new Watch(worker, this.#clock, reject);
    const listeners = {
      message: (message: ProcessingMessage) => {
        if (message.kind === 'read') watch.isRead();
        else if (message.kind === 'processed') resolve(message.document);
        else
          reject(message.kind === 'failed' ? new DocumentFailure(message.problem) : new Error(message.cause));
      },
      error: (error: unknown) => reject(reasonFor(error)),
      exit: () => reject(new UnreadableDocument('broken')),
    };
    for (const [event, listener] of Object.entries(listeners)) worker.on(event, listener);
    // A thread that waits for documents doesn't keep the process alive.
    worker.ref();
    try {
      worker.postMessage(job, []);
      return await promise;
    } catch (error) {
      await this.end();
      throw error;
    } finally {
      watch.end();
      signal.removeEventListener('abort', abort);
      for (const [event, listener] of Object.entries(listeners)) worker.off(event, listener);
      worker.unref();
    }
  }

  #start(): Worker {
    const worker = new Worker(threadFile('processing-worker', import.meta.url), {
      workerData: this.#data,
      resourceLimits,
    });
    // One that ends between two documents ends nothing else, and the next document gets another one.
    worker.on('error', () => {});
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }
}

/** Gives up a document that takes too long or too much memory. */
class Watch {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #giveUp: (reason: unknown) => void;
  #cancelTimeout: () => void;
  #cancelLook = () => {};

  constructor(worker: Worker, clock: Clock, giveUp: (reason: unknown) => void) {
    this.#worker = worker;
    this.#clock = clock;
    this.#giveUp = giveUp;
    this.#cancelTimeout = clock.after(readingTimeout, () => giveUp(new UnreadableDocument('too_slow')));
    this.#lookAtMemory();
  }

  isRead(): void {
    this.#cancelTimeout();
    this.#cancelTimeout = this.#clock.after(embeddingTimeout, () =>
      this.#giveUp(new DocumentFailure(tooSlow)),
    );
  }

  end(): void {
    this.#cancelTimeout();
    this.#cancelLook();
  }

  /** The limit of a thread's heap doesn't count what lies beside it, such as the bytes that a stream unpacks to. */
  #lookAtMemory(): void {
    this.#cancelLook = this.#clock.after(memoryInterval, () => {
      void this.#checkMemory();
      this.#lookAtMemory();
    });
  }

  async #checkMemory(): Promise<void> {
    if ((await this.#memory()) > maxMemory) this.#giveUp(new UnreadableDocument('too_large'));
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

const tooSlow = { code: 'too_slow', message: 'Cutting and embedding the document takes too long' } as const;

/** Whatever else ends a thread is not due to the document, such as options of Node that a thread refuses. */
function reasonFor(error: unknown): unknown {
  if (codeOf(error) !== 'ERR_WORKER_OUT_OF_MEMORY') return error;
  return new UnreadableDocument('too_large', { cause: error });
}
