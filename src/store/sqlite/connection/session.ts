import { ringbackError } from '../../../errors/errors.ts';
import type { InboxDatabase } from '../../../dispatch/handler.ts';
import type { Clock } from '../../../kit/clock.ts';
import type { ClaimedEvent, ClaimedRun } from '../../claims.ts';
import { claimOnEvent } from '../../shared/claimed-work.ts';
import type { StoreNotice } from '../../store.ts';
import { FileWriter } from '../writer/file-writer.ts';
import { MemoryWriter } from '../writer/memory-writer.ts';
import type { PendingOperation, Writer } from '../writer/write-message.ts';
import { ClockJumps } from '../work/clock-jumps.ts';
import { beforeExit } from './before-exit.ts';
import { isLocked, problemOf, toProblem } from './connection.ts';
import { FileGuard } from './database-files.ts';
import { type OpenInbox, openInbox } from './open-inbox.ts';
import { progressOf } from '../admin/move-target.ts';
import { requireWhole } from '../../shared/move.ts';
import type { ArgsOf, MethodOf, Part, ResultOf } from './statements.ts';
import { inboxDatabase } from './user-database.ts';

/** For how long a write is repeated, in milliseconds. */
const lockTimeout = 5_000;

interface WriteOptions<Result> extends Pick<
  PendingOperation,
  'isAwaited' | 'bytes' | 'transfer' | 'isAlone'
> {
  /** Called with the result at once, before any later write is answered. */
  readonly onWritten?: (result: Result) => void;
}

/** This process's use of the database, from its opening until its claims are given back. */
export class Session {
  readonly usersDatabase: InboxDatabase = inboxDatabase({
    opened: () => this.#openOnce(),
    locked: (work) => this.locked(work),
    requireFiles: () => this.files.check(),
    isStarted: () => this.writer !== undefined,
  });
  readonly clock: Clock;
  readonly clockJumps: ClockJumps;
  readonly files: FileGuard;
  readonly #file: string;
  readonly #mayBePart: boolean;
  #report: (notice: StoreNotice) => void = () => {};
  #cancelBeforeExit = () => {};
  #inbox: OpenInbox | undefined;
  #isClosed = false;
  /** Undefined before the start and after the end, and from an unexpected end of its thread to the next write. */
  writer: Writer | undefined;
  /** Whether nothing is repeated any more because another process has locked the database. */
  isAbandoned = false;

  constructor(file: string, clock: Clock, mayBePart: boolean) {
    this.#file = file;
    this.clock = clock;
    this.clockJumps = new ClockJumps(clock, {
      corrected: () => this.opened().statements.dueTimes.corrected(),
      correct: (seen, onWritten) => this.write('dueTimes', 'correct', [seen], { onWritten }),
    });
    this.#mayBePart = mayBePart;
    const onLost = (found: string) => this.#report({ kind: 'replaced', found });
    this.files = new FileGuard(file, () => this.#inbox?.files, onLost);
  }

  reportTo(report: (notice: StoreNotice) => void): void {
    this.#report = report;
  }

  async open(): Promise<void> {
    const inbox = this.#openOnce();
    const { database } = inbox;
    // From here on, this thread no longer waits for a locked database.
    database.pragma('busy_timeout = 0');
    const writer = this.#startWriter(inbox);
    await writer.ready();
    // Before entering, so that a move is not refused because of a receiver that is refused itself.
    this.#requireWhole(database);
    await this.#enter().catch((error: unknown) => {
      throw toProblem(error, this.#file);
    });
    // And after it, because from then on a move writes nothing.
    this.#requireWhole(database);
    if (inbox.isWalMissing) this.#report({ kind: 'wal_missing' });
    this.clockJumps.begin();
    this.#cancelBeforeExit = beforeExit(() => this.#endUnclosed());
  }

  #requireWhole(database: OpenInbox['database']): void {
    if (!this.#mayBePart) requireWhole(this.#file, progressOf(database));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const inbox = this.#inbox;
    const writer = this.writer;
    if (!inbox) return;
    await this.#leave();
    this.#cancelBeforeExit();
    await writer?.close();
    this.#inbox = undefined;
    this.writer = undefined;
    inbox.database.close();
  }

  /** @throws RingbackError `database_closed` unless the database is open */
  opened(): OpenInbox {
    if (!this.#inbox) throw ringbackError('database_closed', { database: this.#file });
    return this.#inbox;
  }

  /**
   * Reads in one transaction: otherwise each statement would check the file again, and drop the cached pages after
   * every write of another connection. In WAL mode, a reader never waits.
   */
  async read<T>(operation: (statements: OpenInbox['statements']) => T): Promise<T> {
    const { database, statements } = this.opened();
    return database.transaction(() => operation(statements)).deferred();
  }

  /**
   * The writer, which is started anew if its thread has ended.
   *
   * @throws RingbackError `database_closed`, `database_replaced`
   */
  requireWriter(): Writer {
    if (this.writer && !this.files.problem) return this.writer;
    const inbox = this.opened();
    if (this.files.problem) throw this.files.problem;
    if (this.#isClosed) throw ringbackError('database_closed', { database: this.#file });
    // The thread has ended unexpectedly, and the writes that it had not answered have failed.
    const writer = this.#startWriter(inbox);
    this.#enter().catch(() => {});
    return writer;
  }

  /**
   * Calls a method of a part of the statements on the writer, in a transaction. Repeats that for some seconds while
   * another process has locked the database, unless a sender waits for it.
   *
   * @throws RingbackError `database_full`, `database_unreadable` or `database_replaced`; else what the operation throws
   */
  async write<P extends Part, M extends MethodOf<P>>(
    part: P,
    method: M,
    args: ArgsOf<P, M>,
    options: WriteOptions<ResultOf<P, M>> = {},
  ): Promise<ResultOf<P, M>> {
    const write = async () => {
      const { promise, resolve, reject } = Promise.withResolvers<ResultOf<P, M>>();
      this.requireWriter().addOperation({
        item: { part, method, args },
        ...options,
        onWritten: (result) => {
          options.onWritten?.(result as ResultOf<P, M>);
          resolve(result as ResultOf<P, M>);
        },
        onFailed: reject,
      });
      return promise;
    };
    try {
      return await (options.isAwaited ? write() : this.#whileLocked(write));
    } catch (error) {
      throw this.files.problem ?? problemOf(error, this.#file) ?? error;
    }
  }

  /** Ends the claim on an event; resolves to whether it still held. */
  async endClaim(claimed: ClaimedEvent | ClaimedRun): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.requireWriter().addEnd({ item: claimOnEvent(claimed), onWritten: resolve, onFailed: reject });
    return promise;
  }

  /**
   * Opens the inbox if it isn't open. Users may need the connection before `open`, because their own tables must exist
   * before the first handler runs.
   */
  #openOnce(): OpenInbox {
    if (!this.#isClosed) this.#inbox ??= openInbox(this.#file, (notice) => this.#report(notice));
    return this.opened();
  }

  #startWriter({ database, statements, files }: OpenInbox): Writer {
    if (!files) return (this.writer = new MemoryWriter(database, statements));
    this.files.check();
    const data = { file: this.#file, files: files.ids };
    return (this.writer = new FileWriter(data, this.clock, {
      onReplaced: (found) => this.files.lose(found),
      onGone: () => {
        this.writer = undefined;
      },
    }));
  }

  /** Enters this process among those that share the file, and gives back what it held under a former id. */
  async #enter(): Promise<void> {
    const { statements, wal } = this.opened();
    const { processes } = statements;
    processes.id = await this.write('membership', 'enter', [this.clock.now(), processes.id, wal]);
  }

  /** Gives back this process's claims. If a full disk, a lock or a lost writer prevents it, others take them over. */
  async #leave(): Promise<void> {
    if (this.opened().statements.processes.id === 0) return;
    const left = this.write('membership', 'leave', [this.clock.now(), this.clockJumps.look()]);
    await left.catch(() => this.#endUnclosed());
  }

  /** Runs a user's write, with the writer's lock. */
  locked<T>(work: () => T): T {
    return this.writer ? this.writer.borrowLockNow(work) : work();
  }

  /**
   * Call when the process ends without having left: the driver closes the database and removes the WAL, which isn't a
   * loss.
   */
  #endUnclosed(): void {
    try {
      // If another database is in the place of this one, the next process would take what is written now for that one's.
      this.files.check();
      this.#inbox?.statements.notedWal.leave();
    } catch {
      // The driver doesn't remove the WAL either: the database is locked, or was replaced.
    }
  }

  /**
   * Repeats a write while another process has locked the database, but not for ever. Each try lasts as long as the
   * writer waits for the lock.
   */
  async #whileLocked<T>(write: () => Promise<T>): Promise<T> {
    let isOver = false;
    let cancel: (() => void) | undefined;
    try {
      for (;;) {
        try {
          return await write();
        } catch (error) {
          if (isOver || this.isAbandoned || !isLocked(error)) throw error;
        }
        cancel ??= this.clock.after(lockTimeout, () => {
          isOver = true;
        });
      }
    } finally {
      cancel?.();
    }
  }
}
