/**
 * The work of the writer thread: it makes every write of this process, so that neither the sync to disk nor a checkpoint
 * ever stalls the app's event loop. All that arrives during one commit goes into the next one, so the sync, which is what
 * a durable write costs, is paid once for all of it. This thread holds nothing back to wait for others.
 */
import { setImmediate } from 'node:timers';
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { block, systemClock } from '../../../kit/clock.ts';
import { storePause } from '../../timeouts.ts';
import { type GroupWritten, failureOf } from './write-group.ts';
import {
  type FromWriter,
  type ToWriter,
  type WriteFailure,
  type WriterData,
  abandoned,
} from './write-message.ts';
import { GroupInProgress, type ReceivedGroup, ReceivedWrites } from './received-writes.ts';
import { lendIfWanted } from './write-lock.ts';
import { WriterConnection } from './writer-connection.ts';

/** How long to let another process finish its transaction before trying again, in milliseconds. */
const lockedPause = 5;

/** Why a write fails that was made to files which are no longer in their place; what to do is reported once. */
const replaced: WriteFailure = { message: 'the database was deleted or replaced', code: undefined };

/** Receives writes, commits them in groups, and says what became of them. */
export class WriterThread {
  readonly #data: WriterData;
  readonly #port: MessagePort;
  readonly #waiting = new ReceivedWrites();
  #connection: WriterConnection;
  /** How the disk has failed, and when it may be tried again. */
  #diskFailure: { readonly failure: WriteFailure; readonly until: number } | undefined;
  #hasEmptiedWal = false;
  #isReplaced = false;
  #isClosing = false;

  constructor(data: WriterData) {
    this.#data = data;
    this.#port = data.port;
    this.#connection = new WriterConnection(data);
  }

  /** Writes what comes, until it is told to close. */
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
   * Empties the WAL, if it can, after the first commit, which enters this process. The entry is then in the database file
   * itself, where it shows the next process whether a WAL is missing. And an earlier process may have been killed after a sync
   * of this WAL failed: whatever is appended after that place could be lost in a power cut. If another connection is using the
   * WAL, it stays as it is: a receiver that was there at the failure knows of it, and a start must not fail for a mere
   * possibility.
   */
  #emptyWal(): void {
    this.#hasEmptiedWal = true;
    try {
      this.#connection.checkpoints.empty();
    } catch {
      // Whatever the disk refuses now it refuses the first write too.
    }
  }

  /**
   * Loads one filter at a time. With many events, loading all of them takes a moment, and neither the app's start nor a
   * delivery must wait for that.
   */
  #loadFilters(): void {
    if (this.#isClosing) return;
    try {
      if (this.#connection.earlier.loadOne()) setImmediate(() => this.#loadFilters());
    } catch {
      // Without the filters, looking for duplicates takes longer. They are made or loaded when events are written.
    }
  }

  #receive(message: ToWriter): void {
    if (message === 'close') this.#isClosing = true;
    else if (message !== 'lend') this.#waiting.add(message);
  }

  /** Takes all messages that have come in, without going back to the event loop: their writes are in the next commit. */
  #receiveAll(): void {
    for (let more = receiveMessageOnPort(this.#port); more; more = receiveMessageOnPort(this.#port)) {
      this.#receive(more.message as ToWriter);
    }
  }

  #writeAll(): void {
    this.#receiveAll();
    this.#lendLock();
    while (!this.#waiting.isEmpty) {
      const group = this.#waiting.nextGroup();
      this.#commit(group);
      this.#waiting.free(group.writes);
      // In this order: the message that asks for the lock comes only once, and may be among those that are received.
      if (!this.#hasEmptiedWal) this.#emptyWal();
      this.#receiveAll();
      this.#lendLock();
    }
    this.#connection.checkpoints.whenIdle();
  }

  #lendLock(): void {
    lendIfWanted(this.#data.lock, () => this.#send('lent'));
  }

  /** Writes a group, and tries again for as long as another process has the lock. */
  #commit({ writes, bytes }: ReceivedGroup): void {
    const { givenUp } = this.#data;
    const progress = new GroupInProgress(writes, givenUp);
    const begunAt = systemClock.elapsed();
    const waited = () => systemClock.elapsed() - begunAt;
    let isChanged = false;
    while (progress.remaining().length > 0) {
      const done = this.#tryToWrite(progress);
      if (done) isChanged = done.isChanged;
      else {
        this.#lendLock();
        progress.waitedForLock(Atomics.load(givenUp, abandoned) === 0n ? waited() : Infinity);
        if (!progress.isOver) block(lockedPause);
      }
    }
    this.#send(progress.message(isChanged ? waited() : undefined));
    if (isChanged) this.#connection.checkpoints.committed(writes.length, bytes);
  }

  /** Undefined when another process has the lock. */
  #tryToWrite(progress: GroupInProgress): GroupWritten | undefined {
    const failure = this.#isReplaced ? replaced : this.#recover();
    if (failure) {
      progress.fail(failure);
      return nothing;
    }
    const done = this.#connection.write(() => progress.remaining());
    if (!done) return undefined;
    if (done.isDiskFailure) this.#failClosed(failureIn(done));
    // Nothing counts that was written to files which are no longer in their place.
    if (this.#noticeReplacedFiles()) progress.fail(replaced);
    else progress.take(done.written);
    return done;
  }

  /**
   * The disk has refused to write or to sync. After a sync that failed, the kernel may report that the next one
   * succeeded, although what the first one dropped is not on disk, and everything after that place in the WAL could then
   * not be read. After a full disk, the WAL would take whatever room becomes free, until too little is left to checkpoint
   * it. So nothing is written any more until the database has been opened anew and its WAL is empty.
   */
  #failClosed(failure: WriteFailure): void {
    this.#diskFailure = { failure, until: systemClock.elapsed() };
  }

  /** Returns why nothing can be written, if the disk still refuses. */
  #recover(): WriteFailure | undefined {
    if (!this.#diskFailure) return undefined;
    if (systemClock.elapsed() < this.#diskFailure.until) return this.#diskFailure.failure;
    try {
      const { process: id } = this.#connection;
      this.#connection.close();
      this.#connection = new WriterConnection({ ...this.#data, id }, true);
      this.#connection.checkpoints.empty();
      this.#diskFailure = undefined;
    } catch (error) {
      // Each try may take long.
      this.#diskFailure = { failure: failureOf(error), until: systemClock.elapsed() + storePause };
    }
    return this.#diskFailure?.failure;
  }

  /** Returns whether the database or its WAL is no longer in its place; the first time, empties the WAL and reports it. */
  #noticeReplacedFiles(): boolean {
    const found = this.#isReplaced ? undefined : this.#changeOfFiles();
    if (found === undefined) return this.#isReplaced;
    this.#isReplaced = true;
    // If only the WAL was deleted, or both were moved, nothing is lost then. And if another database is in the place of
    // this one, the next process doesn't take this WAL for that database's.
    this.#emptyWal();
    this.#send({ replaced: found });
    return true;
  }

  /** Where this process may not look, what is written stays, since it is claimed by now, but nothing more is until it may. */
  #changeOfFiles(): string | undefined {
    try {
      return this.#connection.files.changed();
    } catch (error) {
      this.#failClosed(failureOf(error));
      return undefined;
    }
  }

  #send(message: FromWriter): void {
    this.#port.postMessage(message, []);
  }

  #close(): void {
    this.#connection.close();
    this.#port.close();
  }
}

const nothing: GroupWritten = { written: [], isChanged: false, isDiskFailure: false };

function failureIn({ written }: GroupWritten): WriteFailure {
  for (const one of written) if ('failure' in one) return one.failure;
  return { message: 'the disk refused', code: undefined };
}
