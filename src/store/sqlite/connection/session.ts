import { ringbackError } from '../../../errors/errors.ts';
import type { InboxDatabase } from '../../../dispatch/handling.ts';
import type { Clock } from '../../../kit/clock.ts';
import type { StoreNotice } from '../../store-notice.ts';
import { beforeExit } from './before-exit.ts';
import type { WriteLimits } from '../writer/commit-group.ts';
import { problemOf } from './connection.ts';
import { FileGuard } from './file-guard.ts';
import { inTransaction } from './in-transaction.ts';
import { type OpenInbox, openInbox } from './open-inbox.ts';
import { setPragma } from './pragma.ts';
import { inboxDatabase } from './user-database.ts';
import { Writes } from '../writer/writes.ts';

/** How long closing waits for a locked database, in milliseconds. */
const closeTimeout = 5_000;
/** How long to wait before trying again to give back what closing could not, in milliseconds. */
const leavePause = 1_000;
/** How long users' own writes wait for a locked database, in milliseconds. */
const usersTimeout = 1_000;

/** This process's use of the file, from its opening until everything it held is given back. */
export class Session {
  readonly writes: Writes;
  readonly usersDatabase: InboxDatabase = inboxDatabase({
    opened: () => this.#connected(),
    inTurn: (work) => this.writes.turn.now(() => this.#patiently(() => this.#inPlace(work))),
  });
  readonly #file: string;
  readonly #clock: Clock;
  readonly #files: FileGuard;
  #report: (notice: StoreNotice) => void = () => {};
  #stayAtExit = () => {};
  #inbox: OpenInbox | undefined;
  #isOpen = false;
  #isClosed = false;

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
    const onLost = (found: string) => this.#report({ kind: 'replaced', found });
    this.#files = new FileGuard(file, () => this.#inbox, onLost);
    this.writes = new Writes(file, clock, () => this.opened(), this.#files);
  }

  /** Has `report` called with what happens by itself. */
  reportTo(report: (notice: StoreNotice) => void): void {
    this.#report = report;
  }

  async open(): Promise<void> {
    const { database } = this.#connected();
    // From here on the commit group waits for a locked database, without blocking the event loop.
    database.pragma('busy_timeout = 0');
    this.#isOpen = true;
    const { isWalMissing } = await this.write(join);
    if (isWalMissing) this.#report({ kind: 'wal_missing' });
    this.#stayAtExit = beforeExit(() => this.#endUnclosed());
    await this.writes.ready();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const inbox = this.#inbox;
    if (!inbox) return;
    await this.writes.close();
    const hasLeft = await this.write(leave, { timeout: closeTimeout }).then(
      () => true,
      () => false,
    );
    await inbox.group.drained();
    this.#stayAtExit();
    if (this.#files.problem) this.#files.rescue();
    this.#inbox = undefined;
    if (hasLeft || this.#files.problem) inbox.database.close();
    else this.#leaveLater(inbox);
  }

  abandon(): void {
    this.writes.abandon();
    this.#inbox?.group.abandon();
  }

  /** @throws RingbackError `database_closed` unless the database is open */
  opened(): OpenInbox {
    if (!this.#inbox) throw ringbackError('database_closed', { database: this.#file });
    return this.#inbox;
  }

  /**
   * Reads in one transaction: each statement by itself would check the file again, and drop its cached pages as soon
   * as another connection has written.
   */
  read<T>(operation: (inbox: OpenInbox) => T): T {
    const inbox = this.opened();
    return inbox.database.transaction(() => operation(inbox)).deferred();
  }

  /**
   * Runs `operation` in the next commit of the main thread.
   *
   * @throws RingbackError `database_full`, `database_unreadable` or `database_replaced`; else what the operation throws
   */
  async write<T>(operation: (inbox: OpenInbox) => T, limits?: WriteLimits<T>): Promise<T> {
    try {
      return await this.writes.here(operation, limits);
    } catch (error) {
      throw problemOf(error, this.#file) ?? error;
    }
  }

  /**
   * Opens the inbox if it isn't open yet. Users may need the connection before `open`, because their own tables must
   * exist before the first handler runs.
   */
  #connected(): OpenInbox {
    const report = (notice: StoreNotice) => this.#report(notice);
    if (!this.#isClosed) this.#inbox ??= openInbox(this.#file, this.#clock, this.writes, report);
    return this.opened();
  }

  /**
   * Runs a write that users make outside of `ctx.commit`. It is synchronous, so it blocks the event loop while it
   * waits for another process, or another receiver, that has locked the database.
   */
  #patiently<T>(work: () => T): T {
    // Before `open`, the connection has a busy timeout of its own.
    const database = this.#isOpen ? this.#inbox?.database : undefined;
    if (database) setPragma(database, `busy_timeout = ${usersTimeout}`);
    try {
      return work();
    } finally {
      if (database?.open) setPragma(database, 'busy_timeout = 0');
    }
  }

  /** Runs a write that users make, and doesn't let them take it for done if the files are not in their place. */
  #inPlace<T>(work: () => T): T {
    this.#files.check();
    const result = work();
    this.#files.check();
    return result;
  }

  /** The process ends without a stop, and the driver will close the database: a missing WAL is then none. */
  #endUnclosed(): void {
    try {
      this.#inbox?.processes.forgetOwnWal();
    } catch {
      // Somebody has locked the database, so that the driver can't remove the WAL either.
    }
  }

  /**
   * Tries until it succeeds to give back what closing could not, because of a full disk or a lock that nobody gave
   * back. While this process lives nobody else would take over what it holds: neither other processes, nor a receiver
   * that is started in this process later.
   */
  #leaveLater(inbox: OpenInbox): void {
    this.#clock.after(leavePause, () => {
      try {
        inTransaction(inbox.database, () => leave(inbox), { syncs: true });
        inbox.database.close();
      } catch {
        this.#leaveLater(inbox);
      }
    });
  }
}

/** Enters this process among those that share the file. */
function join({ processes, dueTime }: OpenInbox): { readonly isWalMissing: boolean } {
  const isWalMissing = processes.isWalMissing();
  if (processes.isAlone()) dueTime.catchUp();
  processes.join();
  dueTime.note();
  return { isWalMissing };
}

/** Gives back what this process holds, and removes it from the processes that share the file. */
function leave({ claims, processes, dueTime }: OpenInbox): void {
  dueTime.propose();
  dueTime.note();
  claims.releaseAll(processes.id, { died: false });
  processes.forgetWals();
  processes.remove(processes.id);
}
