import { ringbackError } from '../../errors.ts';
import type { InboxDatabase } from '../../handling.ts';
import type { Clock } from '../../kit/clock.ts';
import type { WriteLimits } from './commit-group.ts';
import { isReadOnly, openingCause } from './connection.ts';
import { inTransaction } from './in-transaction.ts';
import { type OpenInbox, openInbox } from './open-inbox.ts';
import { setPragma } from './pragma.ts';
import { inboxDatabase } from './user-database.ts';
import { Writes } from './writes.ts';

/** How long closing waits for a locked database, in milliseconds. */
const closePatience = 5_000;
/** How long to wait before trying again to give back what closing could not, in milliseconds. */
const leavePause = 1_000;
/** How long users' own writes wait for a locked database, in milliseconds. */
const usersPatience = 1_000;

/** This process's use of the file, from its opening until everything it held is given back. */
export class Session {
  readonly writes: Writes;
  readonly usersDatabase: InboxDatabase = inboxDatabase({
    opened: () => this.#connected(),
    inTurn: (work) => this.writes.turn.now(() => this.#patiently(work)),
  });
  readonly #file: string;
  readonly #clock: Clock;
  #inbox: OpenInbox | undefined;
  #isOpen = false;
  #isClosed = false;

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
    this.writes = new Writes(file, clock, () => this.opened());
  }

  async open(): Promise<void> {
    const { database } = this.#connected();
    // From here on the commit group waits for a locked database, without blocking the event loop.
    database.pragma('busy_timeout = 0');
    this.#isOpen = true;
    await this.#enter();
    await this.writes.ready();
  }

  /** The first write: a file that belongs to another user may have been opened, and can only be read. */
  async #enter(): Promise<void> {
    try {
      await this.write(join);
    } catch (error) {
      if (!isReadOnly(error)) throw error;
      throw ringbackError('database_unreadable', { database: this.#file, cause: openingCause(error) });
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const inbox = this.#inbox;
    if (!inbox) return;
    await this.writes.close();
    // A transaction that the app has begun by hand and left open would keep every process from writing.
    if (inbox.database.inTransaction) inbox.database.exec('rollback');
    const hasLeft = await this.write(leave, { patience: closePatience }).then(
      () => true,
      () => false,
    );
    await inbox.group.drained();
    this.#inbox = undefined;
    if (hasLeft) inbox.database.close();
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

  /** Runs `operation` in the next commit of the main thread. */
  write<T>(operation: (inbox: OpenInbox) => T, limits?: WriteLimits<T>): Promise<T> {
    return this.writes.here(operation, limits);
  }

  /**
   * Opens the inbox if it isn't open yet. Users may need the connection before `open`, because their own tables must
   * exist before the first handler runs.
   */
  #connected(): OpenInbox {
    if (!this.#isClosed) this.#inbox ??= openInbox(this.#file, this.#clock, this.writes);
    return this.opened();
  }

  /**
   * Runs a write that users make outside of `ctx.commit`. It is synchronous, so it blocks the event loop while it
   * waits for another process, or another receiver, that has locked the database.
   */
  #patiently<T>(work: () => T): T {
    // Before `open`, the connection has a busy timeout of its own.
    const database = this.#isOpen ? this.#inbox?.database : undefined;
    if (database) setPragma(database, `busy_timeout = ${usersPatience}`);
    try {
      return work();
    } finally {
      if (database?.open) setPragma(database, 'busy_timeout = 0');
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
function join({ processes, dueTime }: OpenInbox): void {
  if (processes.isAlone()) dueTime.catchUp();
  processes.join();
  dueTime.note();
}

/** Gives back what this process holds, and removes it from the processes that share the file. */
function leave({ claims, processes, dueTime }: OpenInbox): void {
  dueTime.propose();
  dueTime.note();
  claims.releaseAll(processes.id, { died: false });
  processes.remove(processes.id);
}
