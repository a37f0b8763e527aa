import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../kit/clock.ts';
import { codeOf } from '../../../kit/error-text.ts';
import { threadFile } from '../../../kit/files.ts';
import { Semaphore } from '../../../kit/limiters.ts';
import type { ChunkOptions } from '../chunking/chunk.ts';
import { DocumentFailure, type DocumentProblem, UnreadableDocument } from '../document-problem.ts';
import type { EmbeddingService } from '../embedding/openai-embedder.ts';
import type { Material } from '../reading/read-document.ts';

/** How long reading a document may take, including the start of the thread, in milliseconds. */
const readingTimeout = 60_000;
/** How long chunking and embedding may take, in milliseconds: an embedding service is called many times. */
const embeddingTimeout = 600_000;
/** The most memory of the thread, in bytes, on and off its heap. */
const maxMemory = 1024 * 1024 * 1024;
const memoryInterval = 50;

const resourceLimits = { maxOldGenerationSizeMb: maxMemory / 1024 ** 2, maxYoungGenerationSizeMb: 64 };

export interface ProcessingJob {
  readonly materials: readonly Material[];
  readonly chunking: ChunkOptions;
  readonly model: string;
}

export interface ProcessedDocument {
  readonly chunks: readonly string[];
  readonly vectors: readonly Float32Array[];
  /** The frequencies in the chunks, as `Frequencies` writes them. */
  readonly frequencies: Uint8Array;
}

/** The thread's messages: that a document is read, and how its processing has ended. */
export type ProcessingMessage =
  | { readonly kind: 'read' }
  | { readonly kind: 'processed'; readonly document: ProcessedDocument }
  | { readonly kind: 'failed'; readonly problem: DocumentProblem }
  | { readonly kind: 'unexpected'; readonly cause: string };

/**
 * Processes documents on a thread, one at a time, because an untrusted document must not block the sandbox or fill its
 * memory. The thread is started for the first document, and terminated after a failed one.
 */
export class ProcessingThread {
  readonly #service: EmbeddingService | undefined;
  readonly #clock: Clock;
  #worker: Worker | undefined;
  readonly #one = new Semaphore(1);

  constructor(service: EmbeddingService | undefined, clock: Clock) {
    this.#service = service;
    this.#clock = clock;
  }

  /**
   * Processes a document after all earlier ones. Its bytes are copied.
   *
   * @param signal aborts the processing, which then rejects with the signal's reason
   * @param begins called when it is the document's turn
   * @throws DocumentFailure
   */
  process(job: ProcessingJob, signal: AbortSignal, begins = () => {}): Promise<ProcessedDocument> {
    return this.#one.run(async () => {
      signal.throwIfAborted();
      begins();
      return this.#process(job, signal);
    });
  }

  /** Ends the thread; another document starts a new one. */
  async end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    // Awaited, because the thread keeps memory that the next one may need.
    await worker?.terminate();
  }

  async #process(job: ProcessingJob, signal: AbortSignal): Promise<ProcessedDocument> {
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<ProcessedDocument>();
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort);
    const watch = watchOver(worker, this.#clock, reject);
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
    // An idle thread doesn't keep the process alive.
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
      workerData: this.#service,
      resourceLimits,
    });
    // A thread that dies between two documents is replaced for the next one.
    worker.on('error', () => {});
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }
}

/** Gives up when the processing takes too long or too much memory, until it is ended. */
function watchOver(worker: Worker, clock: Clock, giveUp: (reason: unknown) => void) {
  let cancelTimeout = clock.after(readingTimeout, () => giveUp(new UnreadableDocument('too_slow')));
  let cancelLook = () => {};
  const checkMemory = async () => {
    if ((await memoryOf(worker)) > maxMemory) giveUp(new UnreadableDocument('too_large'));
  };
  const lookAtMemory = () => {
    cancelLook = clock.after(memoryInterval, () => {
      void checkMemory();
      lookAtMemory();
    });
  };
  lookAtMemory();
  return {
    isRead() {
      cancelTimeout();
      cancelTimeout = clock.after(embeddingTimeout, () => giveUp(new DocumentFailure(tooSlow)));
    },
    end() {
      cancelTimeout();
      cancelLook();
    },
  };
}

/**
 * On and off the heap, whose limit doesn't count the unpacked bytes of a stream. 0 before the thread runs, after it has
 * ended, and on Node before 22.16, which can't report it.
 */
async function memoryOf(worker: Worker): Promise<number> {
  try {
    const { used_heap_size, external_memory } = await worker.getHeapStatistics();
    return used_heap_size + external_memory;
  } catch {
    return 0;
  }
}

const tooSlow = { code: 'too_slow', message: 'Splitting and embedding the document took too long' } as const;

/** Other ends of a thread, such as by Node options that a thread refuses, aren't due to the document. */
function reasonFor(error: unknown): unknown {
  if (codeOf(error) !== 'ERR_WORKER_OUT_OF_MEMORY') return error;
  return new UnreadableDocument('too_large', { cause: error });
}
