import type { AlertStore, FoundAlert, KeptAlert, ToTell } from '../../alert-store.ts';
import type { Access } from '../access.ts';

/** Which alerts are raised, in SQLite. */
export class SqliteAlerts implements AlertStore {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  raise(alert: FoundAlert): Promise<ToTell | undefined> {
    return this.#access.write('raiseAlert', [alert]);
  }

  untold(name: string, subject: string): Promise<void> {
    return this.#access.write('untoldAlert', [name, subject]);
  }

  end(name: string, subject: string): Promise<boolean> {
    return this.#access.write('endAlert', [name, subject]);
  }

  list(): Promise<readonly KeptAlert[]> {
    return this.#access.read(({ alerts }) => alerts.list());
  }

  deadRuns(limit: number): Promise<number> {
    return this.#access.read(({ alerts }) => alerts.deadRuns(limit));
  }
}
