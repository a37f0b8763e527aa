import type { FailureGroup, FailureQuery, FailureStore } from '../../failure-store.ts';
import type { Access } from '../access.ts';

/** The failures of a SQLite inbox. */
export class SqliteFailures implements FailureStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  groups(query: FailureQuery): Promise<readonly FailureGroup[]> {
    return this.#access.read(({ failures }) => failures.groups(query));
  }
}
