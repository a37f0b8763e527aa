/**
 * The work of the commit thread: it writes events, settlements and deliveries in quarantine through a connection of its own, so that neither
 * the sync to disk nor a checkpoint ever stalls the app's event loop. All that arrives during one commit goes into
 * the next one, so the sync, which is what a durable write costs, is paid once for all of it. No event is held back to
 * wait for others; a settlement may be, for a moment: see `AdaptiveSpin`.
 */
import { setImmediate } from 'node:timers';
import type { MessagePort } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import {
  type CommitThreadData,
  type FromCommitThread,
  type ToCommitThread,
  type WriteResult,
  hasChanged,
  readyMessage,
} from './commit-message.ts';
import { messageOf } from '../../../kit/error-text.ts';
import { block, systemClock } from '../../../kit/clock.ts';
import { Checkpoints } from './checkpoints.ts';
import { connectAgain } from '../connection/connection.ts';
import { DatabaseFiles } from '../connection/database-files.ts';
import { GroupResult } from './group-result.ts';
import type { Waiting } from './incoming.ts';
import { FilteredIdentities } from '../dedupe/filtered-identities.ts';
import { LogFile } from '../connection/wal-file.ts';
import { holderOf } from '../work/processes.ts';
import { Received } from './received.ts';
import { ThreadTurn } from './turn.ts';
import { type Wanted, type WriteGroup, prepareWriteGroup } from './write-group.ts';

/** How long to let another process finish its transaction before trying again, in milliseconds. */
const lockedPause = 5;
/** Pages in the log at which a commit writes them back itself: far more than the checkpoint thread lets gather. */
const checkpointPages = 36_000;
/** The size of the page cache, in kibibytes: the pages of the latest era stay in memory, and need not be read again. */
const cacheSize = 6_000;

/** Why a write fails that was made to files which are no longer in their place; what to do is reported once. */
const replaced = 'the database was deleted or replaced';

export class Committer {
  readonly #port: MessagePort;
  readonly #database: Database.Database;
  readonly #turn: ThreadTurn;
  readonly #write: WriteGroup;
  readonly #earlier: FilteredIdentities;
  readonly #checkpoints: Checkpoints;
  readonly #givenUp: BigInt64Array<SharedArrayBuffer>;
  readonly #log: LogFile;
  readonly #received: Received;
  readonly #files: DatabaseFiles;
  #isReplaced = false;

  constructor({ file, files, process, identity, turn, givenUp, port }: CommitThreadData) {
    this.#port = port;
    this.#received = new Received(port, systemClock);
    this.#givenUp = givenUp;
    this.#database = connectAgain(file, files);
    this.#files = new DatabaseFiles(this.#database, file, files);
    this.#database.pragma('busy_timeout = 0');
    this.#database.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    this.#database.pragma(`cache_size = -${cacheSize}`);
    this.#checkpoints = new Checkpoints(this.#database, file, files);
    this.#log = new LogFile(this.#database, systemClock, () => this.#checkpoints.writeBack());
    this.#turn = new ThreadTurn(turn, (message) => this.#tell(message));
    this.#earlier = new FilteredIdentities(this.#database);
    const holder = holderOf(this.#database, process, identity);
    this.#write = prepareWriteGroup(this.#database, holder, this.#earlier, this.#log);
  }

  /** Writes what comes, until it is told to close. */
  listen(): void {
    this.#turn.take();
    this.#log.beginAnew();
    this.#turn.give();
    this.#tell(readyMessage);
    this.#loadFilters();
    this.#port.on('message', (message: ToCommitThread) => {
      this.#received.take(message);
      do {
        this.#writeAll();
        this.#received.lookForEvent();
      } while (!this.#received.isEmpty);
      if (this.#received.isClosing) this.#close();
    });
  }

  #writeAll(): void {
    const { writes, spin } = this.#received;
    this.#received.takeAll();
    while (!writes.isEmpty) {
      this.#received.lookForEvent();
      const group = writes.nextGroup();
      this.#commit(group);
      spin.committed(group);
      writes.letGo(group);
      this.#received.takeAll();
    }
    this.#syncLog();
    this.#checkpoints.rested();
  }

  /**
   * Loads one filter at a time. With many events, loading all of them takes a moment, and neither the app's start nor
   * a delivery must wait for that.
   */
  #loadFilters(): void {
    if (this.#received.isClosing) return;
    try {
      if (this.#earlier.loadOne()) setImmediate(() => this.#loadFilters());
    } catch {
      // Without the filters, looking for duplicates takes longer. They are made or loaded when events are written.
    }
  }

  /** Writes a group, and tries again for as long as another process has the lock. */
  #commit(group: readonly Waiting[]): void {
    const result = new GroupResult(group, () => Number(Atomics.load(this.#givenUp, 0)));
    // These syncs were requested before this commit began, so its own sync answers them.
    const syncing = this.#received.syncs.wanted;
    const begunAt = systemClock.elapsed();
    while (!this.#tryCommit(result, syncing, begunAt)) {
      // A sync needs no lock, and may have been requested since.
      this.#received.takeAll();
      this.#syncLog();
      const isAbandoned = Atomics.load(this.#givenUp, 1) !== 0n;
      if (isAbandoned) result.giveUpTo(Infinity);
      else block(lockedPause);
    }
    // Writes that were given up are not in the log and don't count: a slow disk would get checkpoints, and their
    // syncs, for nothing.
    this.#checkpoints.committed(result.count, result.bytes);
  }

  /** False when another process has the lock. */
  #tryCommit(result: GroupResult, syncing: number, begunAt: number): boolean {
    return this.#inTurn(result.wanted, (written) => {
      result.take(written);
      this.#tell(result.told(systemClock.elapsed() - begunAt));
      if (written.some(hasChanged)) this.#received.syncs.answer(syncing);
    });
  }

  /**
   * Writes the items in this thread's turn; false when another process has the lock. The results are sent before the
   * turn is given back: the thread that has the turn next must know of every claim.
   */
  #inTurn(wanted: Wanted, tell: (written: readonly (WriteResult | string)[]) => void): boolean {
    const isAnyWanted = wanted().length > 0;
    if (isAnyWanted) this.#turn.take();
    try {
      const written = isAnyWanted ? this.#writeSurely(wanted) : [];
      if (written) tell(written);
      return written !== undefined;
    } finally {
      if (isAnyWanted) this.#turn.give();
    }
  }

  /**
   * Writes the items once the log is sound: a commit behind a part of the log that may be missing on disk would not
   * count, even if its own sync succeeds. Nothing counts that was written to files which are no longer in their place.
   */
  #writeSurely(wanted: Wanted): readonly (WriteResult | string)[] | undefined {
    if (this.#isReplaced) return wanted().map(() => replaced);
    try {
      this.#log.makeSure();
    } catch (error) {
      return wanted().map(() => messageOf(error));
    }
    const written = this.#write(wanted);
    return written && this.#areFilesReplaced() ? written.map(() => replaced) : written;
  }

  /** Looks whether the database and its WAL are still in their place; reports it once when they are not. */
  #areFilesReplaced(): boolean {
    const found = this.#isReplaced ? undefined : this.#files.changed();
    if (found === undefined) return this.#isReplaced;
    this.#isReplaced = true;
    try {
      // See `FileGuard`: what may be saved is saved.
      this.#checkpoints.writeBack();
    } catch {
      // What is in the files stays as it is.
    }
    this.#tell({ replaced: found });
    return true;
  }

  /** Syncs what the main thread has written, unless a commit has done so. */
  #syncLog(): void {
    const { syncs } = this.#received;
    if (!syncs.isAnyOpen) return;
    try {
      this.#log.sync();
      syncs.answer(syncs.wanted, this.#areFilesReplaced() ? replaced : undefined);
    } catch (error) {
      syncs.answer(syncs.wanted, messageOf(error));
    }
  }

  #tell(message: FromCommitThread): void {
    this.#port.postMessage(message, []);
  }

  #close(): void {
    this.#checkpoints.close();
    this.#log.close();
    this.#database.close();
    this.#port.close();
  }
}
