import { type RingbackError, ringbackError } from '../../../errors/errors.ts';
import type { DatabaseFiles } from './database-files.ts';

/**
 * Fails every write of this process, permanently, once the database or its WAL was deleted or replaced: what is written
 * from then on would be gone after a restart.
 */
export class FileGuard {
  /** The problem, once the files are known to be lost. */
  problem: RingbackError | undefined;
  readonly #file: string;
  readonly #files: () => DatabaseFiles | undefined;
  readonly #onLost: (found: string) => void;

  /** `onLost` is called once. */
  constructor(file: string, files: () => DatabaseFiles | undefined, onLost: (found: string) => void) {
    this.#file = file;
    this.#files = files;
    this.#onLost = onLost;
  }

  /**
   * Looks at the files, and returns the problem if they are lost.
   *
   * @throws RingbackError `database_unreadable` when this process may not look, which may pass
   */
  look(): RingbackError | undefined {
    if (this.problem) return this.problem;
    const found = this.#files()?.changed();
    if (found !== undefined) this.lose(found);
    return this.problem;
  }

  /** @throws RingbackError `database_replaced` if the files are lost; as `look` does */
  check(): void {
    const problem = this.look();
    if (problem) throw problem;
  }

  /** Call when the files were found to be lost. */
  lose(found: string): void {
    if (this.problem) return;
    this.problem = ringbackError('database_replaced', { database: this.#file, found });
    this.#onLost(found);
  }
}
