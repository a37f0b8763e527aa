import type { InboxDatabase } from '../../handling.ts';
import type { Clock } from '../../kit/clock.ts';
import type { WriteLimits } from './commit-group.ts';
import { inTransaction } from './in-transaction.ts';
import { type OpenInbox, openInbox } from './open-inbox.ts';
import { inboxDatabase } from './user-database.ts';
import { Writes } from './writes.ts';

/** How long closing waits for a locked database, in milliseconds. */
const closePatience = 5_000;
/** How soon what could not be given back in closing is given back, in milliseconds. */
const leavePause = 1_000;
/** How long users' own writes wait for a locked database, in milliseconds. */
const usersPatience = 1_000;

/** This process's use of the file, from its opening until everything it held is given back. */
export class Session {
  readonly writes: Writes;
  readonly usersDatabase: InboxDatabase = inboxDatabase({
    opened: () => this.#connected().database,
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
    // From here on a locked database is waited for off the event loop, in the commit group.
    database.pragma('busy_timeout = 0');
    this.#isOpen = true;
    await this.write(join);
    await this.writes.ready();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const inbox = this.#inbox;
    if (!inbox) return;
    await this.writes.close();
    // What the app has begun by hand and left open would keep everybody from writing.
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

  /** @throws unless the database is open */
  opened(): OpenInbox {
    if (!this.#inbox) throw new Error(`The database ${this.#file} is not open`);
    return this.#inbox;
  }

  /** In one transaction: each alone would look at the file anew, and read again what it knew as soon as others wrote. */
  read<T>(operation: (inbox: OpenInbox) => T): T {
    const inbox = this.opened();
    return inbox.database.transaction(() => operation(inbox)).deferred();
  }

  /** In the next commit of the main thread. */
  write<T>(operation: (inbox: OpenInbox) => T, limits?: WriteLimits<T>): Promise<T> {
    return this.writes.here(operation, limits);
  }

  /** Users' own tables must be there before the first handler runs, so they may ask for the connection first. */
  #connected(): OpenInbox {
    if (!this.#isClosed) this.#inbox ??= openInbox(this.#file, this.#clock, this.writes);
    return this.opened();
  }

  /** What users write outside of `ctx.commit` can't wait off the event loop for another process, or receiver. */
  #patiently<T>(work: () => T): T {
    // Before the start the connection waits by itself.
    const database = this.#isOpen ? this.#inbox?.database : undefined;
    database?.pragma(`busy_timeout = ${usersPatience}`);
    try {
      return work();
    } finally {
      if (database?.open) database.pragma('busy_timeout = 0');
    }
  }

  /**
   * A full disk, or a lock that nobody gives back. Were this process to end, others would take over what it holds; as long
   * as it lives they leave that alone, and so would a receiver that is started in it later.
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

/** Enters this process. */
function join({ processes, dueTime }: OpenInbox): void {
  if (processes.isAlone()) dueTime.catchUp();
  processes.join();
  dueTime.note();
}

/** Gives back what this process holds, and takes its leave of the others. */
function leave({ claims, processes, dueTime }: OpenInbox): void {
  dueTime.propose();
  dueTime.note();
  claims.releaseAll(processes.id, { died: false });
  processes.remove(processes.id);
}
