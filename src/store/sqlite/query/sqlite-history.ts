import type { Backlog, HistoryRow, HistoryStore, Resolution } from '../../history-store.ts';
import type { Access } from '../access.ts';

/** What has happened, by time, in SQLite. */
export class SqliteHistory implements HistoryStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  add(at: number, counts: ReadonlyMap<string, number>): Promise<void> {
    return this.#access.write('addHistory', [at, counts]);
  }

  list(resolution: Resolution, since: number, until: number): Promise<readonly HistoryRow[]> {
    return this.#access.read(({ history }) => history.list(resolution, since, until));
  }

  backlog(now: number): Promise<Backlog> {
    return this.#access.read(({ history }) => history.backlog(now));
  }
}
