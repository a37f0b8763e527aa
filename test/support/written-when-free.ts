import { turn } from './clock.ts';

/**
 * Repeats a user's synchronous write while the database is locked: on a busy machine, the writer thread may take longer
 * to grant its lock than the two seconds for which such a write blocks the app.
 */
export async function writtenWhenFree(write: () => unknown): Promise<void> {
  for (;;) {
    try {
      write();
      return;
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'SQLITE_BUSY') throw error;
      await turn();
    }
  }
}
