import { Worker } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { threadFile } from './thread-file.ts';

/** What the checkpoint thread needs to begin. */
export interface CheckpointThreadData {
  readonly file: string;
  /** One of the numbers below: the two threads say no more to each other. */
  readonly state: Int32Array<SharedArrayBuffer>;
}

export const idle = 0;
export const wanted = 1;
export const checkpointed = 2;
export const ending = 3;
export const ended = 4;

/**
 * So many pages in the log, by our estimate, are worth writing back: the more, the oftener one of them is written for
 * several commits, and the rarer are the syncs that commits have to wait for.
 */
const enoughPages = 16_000;
/** What a commit writes for each of its writes, and besides, in pages. */
const pagesOfWrite = 0.8;
const pagesOfCommit = 8;
const pageSize = 4_096;
/** At so many, the commit thread writes the rest back even while others wait for it. */
const mostPages = 24_000;
/** What a checkpoint tells: whether somebody stood in its way, the pages in the log, and how many of them are in the database. */
interface Progress {
  readonly busy: number;
  readonly log: number;
  readonly checkpointed: number;
}

/** It makes next to nothing. */
const resourceLimits = { maxYoungGenerationSizeMb: 2 };
/** How long closing waits for a checkpoint, in milliseconds: it is a matter of the log's size, not of what is safe. */
const closePatience = 5_000;
/** How long those who read the log are waited for, in milliseconds: this process reads for moments only. */
const readersPatience = 200;

/**
 * Has the log written back. A thread of its own does so while commits go on, and syncs the database; what these add
 * meanwhile is little, and the commit thread writes that back itself, between two commits. Then nothing is left, and
 * the log begins anew: it would grow for ever if whoever writes it back were always a step behind.
 */
export class Checkpoints {
  readonly #database: Database.Database;
  readonly #finishing: Database.Statement;
  readonly #truncating: Database.Statement;
  readonly #state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #file: string;
  #worker: Worker | undefined;
  #pages = 0;

  constructor(database: Database.Database, file: string) {
    this.#database = database;
    this.#finishing = prepareCheckpoint(database);
    this.#truncating = database.prepare('pragma wal_checkpoint(TRUNCATE)');
    this.#file = file;
  }

  /** A commit has been made. */
  committed(writes: number, bytes: number): void {
    this.#pages += pagesOfCommit + writes * pagesOfWrite + bytes / pageSize;
    const state = Atomics.load(this.#state, 0);
    if (state === idle && this.#pages >= enoughPages) this.#begin();
    // Its two syncs hold up the answers of those that wait: on a slow disk, beyond their senders' patience.
    else if (state === checkpointed && this.#pages >= mostPages) this.#finish();
  }

  /** Nobody waits for a commit. */
  rested(): void {
    if (Atomics.load(this.#state, 0) === checkpointed) this.#finish();
  }

  /**
   * Writes all of the log back, syncs it, and gives the log's room back to the disk. @throws unless the log begins anew
   *
   * That all of it is in the database is not enough: while somebody reads the log, what is added goes behind what is there,
   * and that may be missing on disk, or have all the room.
   */
  writeBack(): void {
    this.#database.pragma(`busy_timeout = ${readersPatience}`);
    try {
      const { busy } = this.#truncating.get() as Progress;
      if (busy !== 0) throw new Error('the log could not be written back: it is in use');
      this.#pages = 0;
    } finally {
      this.#database.pragma('busy_timeout = 0');
    }
  }

  /** Resolves, by standing still, when the thread has let go of the database. */
  close(): void {
    if (!this.#worker) return;
    Atomics.store(this.#state, 0, ending);
    Atomics.notify(this.#state, 0);
    Atomics.wait(this.#state, 0, ending, closePatience);
  }

  #begin(): void {
    this.#worker ??= this.#start();
    Atomics.store(this.#state, 0, wanted);
    Atomics.notify(this.#state, 0);
  }

  #finish(): void {
    this.#pages = Math.min(this.#left(), enoughPages / 2);
    Atomics.store(this.#state, 0, idle);
  }

  /** How many pages of the log are left: where somebody reads it, or the disk is full, it is tried again sooner. */
  #left(): number {
    try {
      const { log, checkpointed: done } = this.#finishing.get() as Progress;
      return log - done;
    } catch {
      return Infinity;
    }
  }

  #start(): Worker {
    const workerData: CheckpointThreadData = { file: this.#file, state: this.#state };
    const worker = new Worker(threadFile('checkpoint-worker'), {
      workerData,
      resourceLimits,
      // See DatabaseFile: its file must outlive the thread.
      trackUnmanagedFds: false,
    });
    worker.unref();
    // It is missed only by the disk: the commit thread's own bound writes the log back, if more slowly.
    worker.on('error', () => {
      this.#worker = undefined;
      Atomics.store(this.#state, 0, idle);
    });
    return worker;
  }
}

/** Writes back as much of the log as nobody stands in the way of. */
export function prepareCheckpoint(database: Database.Database): Database.Statement {
  return database.prepare('pragma wal_checkpoint(PASSIVE)');
}
