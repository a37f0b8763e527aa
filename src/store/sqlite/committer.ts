/**
 * What the commit thread does: it writes what arrives and what is settled, with a connection of its own, so that
 * neither the sync to disk nor a checkpoint ever stalls the app's event loop. Whatever comes while one commit runs is
 * in the next one: the sync, which is what a durable write costs, is paid once for all of it. Nothing waits for company.
 */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import {
  type CommitThreadData,
  type FromCommitThread,
  type ToCommitThread,
  type WriteItem,
  failed,
  readyMessage,
} from './commit-message.ts';
import { messageOf } from '../../kit/error-text.ts';
import { standStill, systemClock } from '../../kit/clock.ts';
import { Checkpoints } from './checkpoints.ts';
import { connect } from './connection.ts';
import { Incoming, type Waiting, bytesOf } from './incoming.ts';
import { FilteredIdentities } from './identities/filtered-identities.ts';
import { LogFile } from './log-file.ts';
import { holderOf } from './processes.ts';
import { ThreadTurn } from './turn.ts';
import { type WriteGroup, prepareWriteGroup } from './write-group.ts';

/** How long to let another process finish its transaction before trying again, in milliseconds. */
const lockedPause = 5;
/** Pages in the log at which a commit writes them back itself: far more than the checkpoint thread lets gather. */
const checkpointPages = 36_000;
/** The pages of the latest era are in memory, and need not be read; in kibibytes. */
const cacheSize = 6_000;

export class Committer {
  readonly #port: MessagePort;
  readonly #database: Database.Database;
  readonly #turn: ThreadTurn;
  readonly #write: WriteGroup;
  readonly #earlier: FilteredIdentities;
  readonly #checkpoints: Checkpoints;
  readonly #givenUp: BigInt64Array<SharedArrayBuffer>;
  readonly #log: LogFile;
  /** Up to which request the main thread's writes are to be synced, and have been. */
  #syncWanted = 0;
  #synced = 0;
  readonly #incoming = new Incoming();
  #isClosing = false;

  constructor({ file, process, identity, turn, givenUp, port }: CommitThreadData) {
    this.#port = port;
    this.#givenUp = givenUp;
    this.#database = connect(file);
    this.#database.pragma('busy_timeout = 0');
    this.#database.pragma(`wal_autocheckpoint = ${checkpointPages}`);
    this.#database.pragma(`cache_size = -${cacheSize}`);
    this.#checkpoints = new Checkpoints(this.#database, file);
    this.#log = new LogFile(this.#database, systemClock, () => this.#checkpoints.writeBack());
    this.#turn = new ThreadTurn(turn, (message) => this.#tell(message));
    this.#earlier = new FilteredIdentities(this.#database);
    const holder = holderOf(this.#database, process, identity);
    this.#write = prepareWriteGroup(this.#database, holder, this.#earlier, this.#log);
  }

  /** Writes what comes, until it is told to close. */
  listen(): void {
    this.#tell(readyMessage);
    this.#loadFilters();
    this.#port.on('message', (message: ToCommitThread) => {
      this.#take(message);
      this.#takeAll();
      while (!this.#incoming.isEmpty) {
        const group = this.#incoming.nextGroup();
        this.#commit(group);
        this.#incoming.letGo(group);
        this.#takeAll();
      }
      this.#syncLog();
      this.#checkpoints.rested();
      if (this.#isClosing) this.#close();
    });
  }

  /** One at a time: with many events it takes a moment, and neither the app's start nor a delivery must wait for all. */
  #loadFilters(): void {
    if (this.#isClosing) return;
    try {
      if (this.#earlier.loadOne()) setImmediate(() => this.#loadFilters());
    } catch {
      // Without them it takes longer to look. They are made or loaded when events are written.
    }
  }

  /** Without going back to the event loop: what came in meanwhile is in the next commit. */
  #takeAll(): void {
    for (let more = receiveMessageOnPort(this.#port); more; more = receiveMessageOnPort(this.#port)) {
      this.#take(more.message as ToCommitThread);
    }
  }

  #take(message: ToCommitThread): void {
    if (message === 'close') this.#isClosing = true;
    else if ('sync' in message) this.#syncWanted = message.sync;
    else this.#incoming.add(message);
  }

  #commit(group: readonly Waiting[]): void {
    const results: number[] = group.map(() => failed);
    const failures: [number, string][] = [];
    let open = group.map(({ item }, place) => ({ item, place }));
    let isAbandoned = false;
    // Asked for before this commit began: its own sync is theirs as well.
    const syncing = this.#syncWanted;
    for (;;) {
      const givenUp = Number(Atomics.load(this.#givenUp, 0));
      open = open.filter(({ place }) => {
        // One that was answered with 503 comes again, and is not to be a duplicate of what was never acknowledged.
        const isGivenUp = isAbandoned || (group[place]?.number ?? Infinity) <= givenUp;
        if (isGivenUp) failures.push([place, 'the database did not take it in time']);
        return !isGivenUp;
      });
      const writing = open.map(({ item }) => item);
      const isWritten = this.#inTurn(writing, (written) => {
        for (const [index, { place }] of open.entries()) {
          const result = written[index];
          if (typeof result === 'number') results[place] = result;
          else failures.push([place, result ?? '']);
        }
        this.#tell({ results, failures });
        if (written.some(Number.isFinite)) this.#tellSynced(syncing);
      });
      if (isWritten) break;
      // What waits for a sync only needs no lock, and may have been asked for since.
      this.#takeAll();
      this.#syncLog();
      isAbandoned = Atomics.load(this.#givenUp, 1) !== 0n;
      if (!isAbandoned) standStill(lockedPause);
    }
    // What was given up is not in the log: a slow disk would have checkpoints, and their syncs, for nothing.
    this.#checkpoints.committed(
      open.length,
      open.reduce((sum, { item }) => sum + bytesOf(item), 0),
    );
  }

  /**
   * False while another process writes. What was written is told before the turn is given back: whoever has it next
   * must know of every claim.
   */
  #inTurn(items: readonly WriteItem[], tell: (written: readonly (number | string)[]) => void): boolean {
    if (items.length > 0) this.#turn.take();
    try {
      const written = items.length > 0 ? this.#writeSurely(items) : [];
      if (written) tell(written);
      return written !== undefined;
    } finally {
      if (items.length > 0) this.#turn.give();
    }
  }

  /** Behind a part of the log that may be missing on disk no commit would count, though its own sync succeeds. */
  #writeSurely(items: readonly WriteItem[]): readonly (number | string)[] | undefined {
    try {
      this.#log.makeSure();
    } catch (error) {
      return items.map(() => messageOf(error));
    }
    return this.#write(items);
  }

  /** Syncs what the main thread has written, unless a commit has done so. */
  #syncLog(): void {
    if (this.#synced === this.#syncWanted) return;
    try {
      this.#log.sync();
      this.#tellSynced(this.#syncWanted);
    } catch (error) {
      this.#tellSynced(this.#syncWanted, messageOf(error));
    }
  }

  #tellSynced(synced: number, failure?: string): void {
    if (synced === this.#synced) return;
    this.#synced = synced;
    this.#tell(failure === undefined ? { synced } : { synced, failure });
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
