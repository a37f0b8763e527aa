import type { FailureGroup, FailureQuery, FailureStore, NamedGroup } from '../../failure-store.ts';
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

  named(ids: readonly string[]): Promise<readonly NamedGroup[]> {
    return this.#access.read(({ failures }) => failures.named(ids));
  }

  mute(id: string, now: number): Promise<boolean> {
    return this.#access.write('muteGroup', [id, now]);
  }

  unmute(id: string): Promise<boolean> {
    return this.#access.write('unmuteGroup', [id]);
  }
}
