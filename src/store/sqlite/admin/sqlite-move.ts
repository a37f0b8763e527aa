import type Database from 'better-sqlite3';
import { ringbackError } from '../../../errors/errors.ts';
import { codeOf } from '../../../kit/error-text.ts';
import type { Clock } from '../../../kit/clock.ts';
import { type Movable, type MoveSource, type MoveTarget, takeOverIn } from '../../shared/move.ts';
import { openDatabase, toProblem } from '../connection/connection.ts';
import { SqliteStore } from '../sqlite-store.ts';
import { sourceOn } from './move-source.ts';
import { targetOn } from './move-target.ts';

/** An inbox in a SQLite file that can be moved from or to. */
export class SqliteMove implements Movable {
  readonly name: string;
  readonly #clock: Clock;

  constructor(file: string, clock: Clock) {
    this.name = file;
    this.#clock = clock;
  }

  /** Locks the file, so that no receiver writes to it meanwhile. */
  asSource<T>(work: (source: MoveSource) => Promise<T>): Promise<T> {
    return this.#alone((database) => {
      // Until the database is closed.
      database.exec('begin immediate');
      this.#refuseUse(database);
      return work(sourceOn(database, this.name));
    });
  }

  asTarget<T>(work: (target: MoveTarget) => Promise<T>): Promise<T> {
    return this.#alone(
      (database) => {
        const refuseUse = () => this.#refuseUse(database);
        refuseUse();
        return work(targetOn(database, this.name, refuseUse));
      },
      { mayBePart: true },
    );
  }

  async #alone<T>(
    work: (database: Database.Database) => Promise<T>,
    options?: { readonly mayBePart: boolean },
  ): Promise<T> {
    await takeOverIn(new SqliteStore(this.name, this.#clock, options));
    const database = openDatabase(this.name);
    try {
      return await work(database);
    } catch (error) {
      throw codeOf(error).startsWith('SQLITE_') ? toProblem(error, this.name) : error;
    } finally {
      database.close();
    }
  }

  #refuseUse(database: Database.Database): void {
    const processes = database.prepare('select count(*) from processes').pluck().get() as number;
    if (processes > 0) throw ringbackError('inbox_in_use', { database: this.name });
  }
}
