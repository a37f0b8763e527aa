import type { Store } from '../../store/store.ts';
import type { Account, Audit } from '../audit.ts';

interface PinnedSchemeParts {
  readonly store: Pick<Store, 'pinnedScheme' | 'unpinScheme'>;
  readonly audit: Audit;
}

/**
 * Unpins the scheme of signatures, so that the next new event pins its own. Resolves to the scheme that was pinned;
 * undefined if there was none.
 */
export async function unpinScheme(
  { store, audit }: PinnedSchemeParts,
  account: Account,
): Promise<string | undefined> {
  const what = await store.pinnedScheme();
  if (what === undefined) return undefined;
  return audit.record({ ...account, action: 'unpin', what }, async () => ({
    result: await store.unpinScheme(),
  }));
}
