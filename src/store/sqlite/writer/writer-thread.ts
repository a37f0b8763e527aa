/**
 * The writer thread. It makes every write of a running process but users' own, so that neither the sync to disk nor a
 * checkpoint blocks the app's event loop. All that arrives during one commit goes into the next one and shares its
 * sync. This thread never delays a write to wait for more.
 */
import { setImmediate } from 'node:timers';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { block, systemClock } from '../../../kit/clock.ts';
import { recordTimeout, storePause } from '../../timeouts.ts';
import { type GroupWritten, failedGroup, failureOf, groupBytes, groupWrites } from './write-group.ts';
import {
  type FromWriter,
  type ToWriter,
  type WriteFailure,
  type WriteMessage,
  type WriterData,
  type Writes,
  unpacked,
} from './write-message.ts';
import type { Checkpoints } from './checkpoints.ts';
import { isFailedSync } from '../connection/connection.ts';
import { answerRequest, requested } from './write-lock.ts';
import { WriterConnection } from './writer-connection.ts';

/** How long to wait for another process's transaction before trying again, in milliseconds. */
const lockedPause = 5;

const locked: WriteFailure = { message: 'database is locked', code: 'SQLITE_BUSY' };
/** The failure of writes to files that were moved, deleted or replaced. What to do about it is reported once. */
const replaced: WriteFailure = { message: 'the database was deleted or replaced', code: undefined };

/** The failure of the first writes after the disk has failed in a write of the app's thread. */
const failedInApp: WriteFailure = {
  message: 'the disk has failed in a write of the app',
  code: 'SQLITE_IOERR',
};

/** How the disk failed, and when to try it again, by the monotonic clock. */
interface DiskFailure {
  readonly failure: WriteFailure;
  readonly until: number;
}

/** Receives writes, commits them in groups, and sends their results back. */
export class WriterThread {
  readonly #data: WriterData;
  readonly #port: MessagePort;
  readonly #send: (message: FromWriter) => void;
  /** The writes that have come in and are still to be made, in order. */
  readonly #waiting: WriteMessage[] = [];
  #connection: WriterConnection;
  #diskFailure: DiskFailure | undefined;
  #hasEmptiedWal = false;
  #isReplaced = false;
  #isClosing = false;

  constructor(data: WriterData) {
    this.#data = data;
    this.#port = data.port;
    this.#send = data.port.postMessage.bind(data.port);
    this.#connection = new WriterConnection(data);
  }

  /** Writes what arrives, until it is told to close. */
  listen(): void {
    this.#send('ready');
    this.#loadFilters();
    this.#port.on('message', (message: ToWriter) => {
      this.#receive(message);
      this.#writeAll();
      if (this.#isClosing) this.#close();
    });
  }

  /**
   * Empties the WAL, if possible. After the first commit, which enters this process, for two reasons. The entry must be
   * in the database file itself, to show the next process whether a WAL is missing. And if an earlier process was
   * killed after a sync of this WAL failed, what is appended to it could be lost in a power cut. A WAL that another
   * connection uses stays as it is, because a start must not fail for a mere possibility.
   */
  #emptyWal(): void {
    this.#hasEmptiedWal = true;
    this.#checkpoint((checkpoints) => checkpoints.empty());
  }

  /**
   * Checkpoints, if possible. A sync that fails counts as one of a commit does: what the app has committed and this thread
   * has yet to sync could be lost, and the kernel won't report that again.
   */
  #checkpoint(checkpoint: (checkpoints: Checkpoints) => void): void {
    try {
      checkpoint(this.#connection.checkpoints);
    } catch (error) {
      if (isFailedSync(error)) this.#failClosed(failureOf(error));
    }
  }

  /**
   * Loads filters one at a time, because with many events all of them take a while, for which neither the app's start
   * nor a delivery should wait.
   */
  #loadFilters(): void {
    if (this.#isClosing) return;
    try {
      if (this.#connection.loadFilter()) setImmediate(() => this.#loadFilters());
    } catch {
      // Without filters, the search for duplicates only takes longer. They are loaded or made as events are written.
    }
  }

  #receive(message: ToWriter): void {
    if (message === 'close') this.#isClosing = true;
    else if (message !== 'grant') this.#waiting.push(message);
  }

  /** Writes all that has come in, and grants the lock between two commits. */
  #writeAll(): void {
    for (;;) {
      // Without going back to the event loop, so that all of it goes into the next commit. Before the lock is granted:
      // the app asks for it by one message, which may be among these.
      for (let more = receiveMessageOnPort(this.#port); more; more = receiveMessageOnPort(this.#port)) {
        this.#receive(more.message as ToWriter);
      }
      if (Atomics.load(this.#data.lock, requested) !== 0) this.#grantLock();
      if (this.#waiting.length === 0) break;
      this.#commit(this.#waiting.splice(0, groupSizeOf(this.#waiting)));
      if (!this.#hasEmptiedWal) this.#emptyWal();
    }
    this.#checkpoint((checkpoints) => checkpoints.whenIdle());
  }

  #grantLock(): void {
    // Of replaced files the app learns itself, which looks before and after each write.
    const mayWrite = () => this.#isReplaced || !this.#diskFailure || !this.#recover(this.#diskFailure);
    const hasFailed = answerRequest(this.#data.lock, mayWrite, () => this.#send('answered'));
    if (hasFailed) this.#failClosed(failedInApp);
  }

  /**
   * Writes a group, and sends its outcome; tries again while another process has the lock. After as long as a delivery
   * waits, the group fails, and all that waits behind it, which has waited as long. Callers repeat what must be written.
   */
  #commit(group: readonly WriteMessage[]): void {
    const begunAt = systemClock.elapsed();
    const writes = unpacked(group);
    let done = this.#tryToWrite(writes);
    while (!done && systemClock.elapsed() - begunAt < recordTimeout) {
      this.#grantLock();
      block(lockedPause);
      done = this.#tryToWrite(writes);
    }
    const answered = done ? group : [...group, ...this.#waiting.splice(0)];
    const { events, ends, operations } = done ? writes : unpacked(answered);
    const { results, failures, isChanged } = done ?? failedGroup({ events, ends, operations }, locked);
    const made = { events: events.length, ends: ends.length, operations: operations.length };
    this.#send({ made, results, failures, took: isChanged ? systemClock.elapsed() - begunAt : undefined });
    // Bodies that survive a minor garbage collection would stay until a full one, which this thread, making few
    // objects, hardly ever has.
    for (const { bodies } of answered) bodies.transfer(0);
    if (isChanged) this.#checkpoint((checkpoints) => checkpoints.committed(group));
  }

  /** Returns undefined if another process has the lock. */
  #tryToWrite(writes: Writes): GroupWritten | undefined {
    const failed = this.#isReplaced ? replaced : this.#diskFailure && this.#recover(this.#diskFailure);
    if (failed) return failedGroup(writes, failed);
    const done = this.#connection.write(writes);
    if (!done) return undefined;
    if (done.diskFailure) this.#failClosed(done.diskFailure);
    // What was written to replaced files is lost.
    return this.#wereReplaced() ? failedGroup(writes, replaced) : done;
  }

  /**
   * Refuses writes after the disk has failed, until the database has been opened anew, its WAL is empty, and the disk
   * has taken a write. After a failed sync, the kernel may report that the next one succeeded although the data of the
   * first is not on disk; everything after that place in the WAL would then be unreadable. On a full disk, the WAL
   * would take whatever room becomes free, until too little is left to checkpoint it.
   */
  #failClosed(failure: WriteFailure): void {
    this.#diskFailure = { failure, until: systemClock.elapsed() };
  }

  /** Tries to open the database anew after a failure. Returns why nothing can be written, if the disk still refuses. */
  #recover({ failure, until }: DiskFailure): WriteFailure | undefined {
    if (systemClock.elapsed() < until) return failure;
    try {
      this.#connection.close();
      this.#connection = new WriterConnection(this.#data, this.#connection.process);
      this.#connection.prove();
      this.#diskFailure = undefined;
      return undefined;
    } catch (error) {
      // Not at once, because each try may take long.
      const again = { failure: failureOf(error), until: systemClock.elapsed() + storePause };
      this.#diskFailure = again;
      return again.failure;
    }
  }

  /** Whether the files were moved, deleted or replaced since the last look: then it empties the WAL, and reports that. */
  #wereReplaced(): boolean {
    try {
      const found = this.#connection.files.changed();
      if (found === undefined) return false;
      this.#isReplaced = true;
      // Then nothing is lost if only the WAL was deleted, or both files were moved. And if another database has replaced
      // this one, the next process doesn't take this WAL for that database's.
      this.#emptyWal();
      this.#send({ replaced: found });
      return true;
    } catch (error) {
      // This process may not look. The group that was just written counts: it is on disk, and its events are claimed, so
      // that nobody else would handle them. Further writes fail until it may look again.
      this.#failClosed(failureOf(error));
      return false;
    }
  }

  #close(): void {
    this.#connection.close();
    this.#port.close();
  }
}

/** How many of the waiting messages go into the next commit. */
function groupSizeOf(waiting: readonly WriteMessage[]): number {
  let size = 0;
  let writes = 0;
  let bytes = 0;
  for (const message of waiting) {
    writes += message.count;
    bytes += message.bytes;
    const isFull = writes > groupWrites || bytes > groupBytes;
    if (size > 0 && (isFull || message.isAlone)) break;
    size += 1;
    if (message.isAlone) break;
  }
  return size;
}
