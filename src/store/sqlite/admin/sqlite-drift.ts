import type { Drift } from '../../../events/drift.ts';
import type { DriftRow, DriftStore } from '../../drift-store.ts';
import type { Access } from '../access.ts';

/** The ledger of drift in SQLite. */
export class SqliteDrift implements DriftStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  add(rows: readonly DriftRow[]): Promise<readonly Drift[]> {
    return this.#access.write('addDrift', [rows]);
  }

  list(): Promise<readonly DriftRow[]> {
    return this.#access.read(({ drift }) => drift.list());
  }
}
