import { Worker } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { threadFile } from '../../../kit/files.ts';
import type { FileIds } from '../connection/database-files.ts';
import { isFailedSync, setPragma } from '../connection/connection.ts';
import type { WriteMessage } from './write-message.ts';

/** What the checkpoint thread needs to start. */
export interface CheckpointThreadData {
  readonly file: string;
  readonly files: FileIds;
  /** One of the states below, by which alone the two threads communicate. */
  readonly state: Int32Array<SharedArrayBuffer>;
}

/** Checkpoints as much as is possible without waiting for other connections. */
export const passiveCheckpoint = 'pragma wal_checkpoint(PASSIVE)';

/** The result of a checkpoint: whether another connection blocked it, and how many pages of the WAL are done. */
interface Progress {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

export const idle = 0;
export const wanted = 1;
export const checkpointed = 2;
export const ending = 3;
export const ended = 4;
export const failed = 5;

/**
 * How many pages in the WAL, as estimated, begin a checkpoint. The more there are, the more often one page is written
 * for several commits, and the rarer are the syncs that delay commits.
 */
const enoughPages = 16_000;
/** The estimate: how many pages a commit adds for each of its writes, and how many besides. */
const pagesOfWrite = 0.8;
const pagesOfCommit = 8;
const pageSize = 4_096;
/** At how many pages the writer thread checkpoints the rest even if writes wait. */
const maxPages = 24_000;
/** The checkpoint thread makes next to no objects. */
const resourceLimits = { maxYoungGenerationSizeMb: 2 };
/**
 * How long closing waits for a checkpoint, in milliseconds. If it takes longer, the WAL stays larger; nothing is lost.
 */
const closeTimeout = 5_000;
/** How long emptying the WAL waits for readers, in milliseconds: those of this process only read for moments. */
const readersTimeout = 200;

/**
 * Checkpoints the WAL. A thread of its own does most of it while commits go on. The writer thread then checkpoints,
 * between two commits, the few pages that were added meanwhile. With nothing left, the WAL begins anew: if the
 * checkpoint always remained a step behind, it would grow for ever.
 */
export class Checkpoints {
  readonly #database: Database.Database;
  readonly #passive: Database.Statement;
  readonly #truncate: Database.Statement;
  readonly #state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #file: string;
  readonly #files: FileIds;
  #worker: Worker | undefined;
  #pages = 0;

  constructor(database: Database.Database, file: string, files: FileIds) {
    this.#database = database;
    this.#passive = database.prepare(passiveCheckpoint);
    this.#truncate = database.prepare('pragma wal_checkpoint(TRUNCATE)');
    this.#file = file;
    this.#files = files;
  }

  /**
   * Call after each commit, with what it wrote.
   *
   * @throws if the disk refuses a sync
   */
  committed(messages: readonly Pick<WriteMessage, 'count' | 'bytes'>[]): void {
    this.#pages += pagesOfCommit;
    for (const { count, bytes } of messages) this.#pages += count * pagesOfWrite + bytes / pageSize;
    const state = Atomics.load(this.#state, 0);
    if (state === idle && this.#pages >= enoughPages) this.#begin();
    else if (state === failed) this.#tryLater();
    // Only then, because finishing makes two syncs, which on a slow disk delay answers for longer than senders wait.
    else if (state === checkpointed && this.#pages >= maxPages) this.#finish();
  }

  /**
   * Call when no write waits for a commit.
   *
   * @throws if the disk refuses a sync
   */
  whenIdle(): void {
    const state = Atomics.load(this.#state, 0);
    if (state === checkpointed) this.#finish();
    if (state === failed) this.#tryLater();
  }

  /**
   * Checkpoints all of the WAL, and truncates it. A checkpoint alone is not enough: while a connection reads the WAL,
   * new pages are added after the old ones, which may be missing on disk, or take up all the room.
   *
   * @throws unless the WAL is empty
   */
  empty(): void {
    setPragma(this.#database, `busy_timeout = ${readersTimeout}`);
    try {
      // Checkpoints most of it while other processes can write, and the rest while they wait.
      this.#passive.get();
      const { busy } = this.#truncate.get() as Progress;
      if (busy !== 0) throw new Error('the WAL could not be checkpointed: it is in use');
      this.#pages = 0;
    } finally {
      setPragma(this.#database, 'busy_timeout = 0');
    }
  }

  /** Blocks until the checkpoint thread has closed its connection, or the timeout is over. */
  close(): void {
    if (!this.#worker) return;
    Atomics.store(this.#state, 0, ending);
    Atomics.notify(this.#state, 0);
    Atomics.wait(this.#state, 0, ending, closeTimeout);
    this.#worker = undefined;
  }

  #begin(): void {
    this.#worker ??= this.#start();
    Atomics.store(this.#state, 0, wanted);
    Atomics.notify(this.#state, 0);
  }

  #finish(): void {
    this.#tryLater();
    this.#pages = Math.min(this.#checkpointRest(), enoughPages / 2);
  }

  #tryLater(): void {
    this.#pages = enoughPages / 2;
    Atomics.store(this.#state, 0, idle);
  }

  /**
   * Checkpoints the rest, and returns how many pages are left: some if another connection reads the WAL, Infinity if
   * the disk is full, say. The more are left, the sooner the next checkpoint begins.
   */
  #checkpointRest(): number {
    try {
      const { log, checkpointed: done } = this.#passive.get() as Progress;
      return log - done;
    } catch (error) {
      if (isFailedSync(error)) throw error;
      return Infinity;
    }
  }

  #start(): Worker {
    const workerData: CheckpointThreadData = { file: this.#file, files: this.#files, state: this.#state };
    const worker = new Worker(threadFile('checkpoint-worker', import.meta.url), {
      workerData,
      resourceLimits,
    });
    worker.unref();
    // Without the checkpoint thread, `wal_autocheckpoint` on the writer thread still checkpoints, if more slowly.
    worker.on('error', () => {
      this.#worker = undefined;
      Atomics.store(this.#state, 0, idle);
    });
    return worker;
  }
}
