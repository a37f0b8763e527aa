import { turn } from './clock.ts';

/**
 * Makes a user's synchronous write, as often as it finds the database locked: on a busy machine the writer thread may not
 * come to lend its lock within the two seconds for which such a write blocks the app.
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
